"""Sentences for pretrained encoders to read."""

SENTENCES = [
    "Interleukin-6 rose by 4.5 % in the  sera of mice (P<0.01).",
    "Randomized trial of insulin glargine versus NPH insulin in type 2 diabetes mellitus.",
    "A café, naïve “quotes” and Ménière's disease: ω-3 fatty acids.",
    "Short.",
    " ".join(f"The {i}th patient was given warfarin." for i in range(60)),  # above 256 subwords
    "Mitochondrial DNA",
]
