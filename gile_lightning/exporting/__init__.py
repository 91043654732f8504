"""Trained models for elsewhere: folders for the Hugging Face hub, and ONNX."""
