"""Circuit -> C, Verilog, ONNX, SQL, scripts and more: one shared walk, one file a target."""
