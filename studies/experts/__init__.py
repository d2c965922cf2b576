"""Judges that stand for experts who rated ideas: Figures 1 and 3 of PBIG-DATA."""
