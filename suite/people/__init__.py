"""What people wrote: spreadsheets of lists, scored by DAT."""
