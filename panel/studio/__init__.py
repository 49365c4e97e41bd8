"""The graphs as LangGraph's development server opens them."""
