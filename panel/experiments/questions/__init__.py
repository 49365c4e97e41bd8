"""Critical questions: having a model ask them, and telling by references what they are worth.

After critical-questions.txt, sections 3 to 7. Judging a question directly is a panel's
work, with the rubric `critical-question`.
"""
