"""Japanese Creativity Questions (paper, section 3.1): answers, judgements, tables, and JCQ-judge's files."""
