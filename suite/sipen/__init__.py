"""SIPeN (Sano et al., NLP 2025): does a model draw scalar implicatures, and does it still understand a sentence?"""
