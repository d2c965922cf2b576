"""`sozo encoders`: which encoder deserves to be a reward, or a second encoder."""
