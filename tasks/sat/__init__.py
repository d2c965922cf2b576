"""Story Alteration Task (paper, section 3.3 and appendix C): rewrites of stories, scored, judged and compared."""
