"""What sways scores besides the responses?"""
