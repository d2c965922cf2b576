"""Whether a judge can judge: `sozo judge` has it read planted answers."""
