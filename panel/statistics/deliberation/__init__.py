"""What did deliberation change?"""
