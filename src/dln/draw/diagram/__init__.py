"""Circuit -> graph of boxes and links -> scene of shapes -> SVG, PNG, PDF; and graph -> DOT."""
