"""What every other room reads: the response table, the protocol's prompts, the noun list and the stories."""
