"""What the documentation site needs beside its pages: generated pages, links, equations."""
