"""What is told and done about sources without mounting them: index, inspect, verify."""
