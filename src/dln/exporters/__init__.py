"""Circuit -> C, Verilog, ONNX, SQL, scripts and more: shared preparation, one module per target."""
