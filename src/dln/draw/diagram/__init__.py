"""Circuit -> a graph of boxes and links -> a scene of shapes -> SVG, PNG, PDF; the graph -> DOT."""
