"""Product ideas from patents (PBIG-DATA): a model has ideas, and a judge rates them in the stages of the experts."""
