"""The site: docs/ as web pages in two languages, by Sphinx, with a few directives of our own.

    python -m book            builds build/site/en and build/site/es
    python -m book --serve    and serves them

The text is in docs/, plain Markdown that a code host shows as well. A directive is a module here:
what it makes of its text is a function of texts (so that most tests need no Sphinx), and `setup`
tells Sphinx of it. `pages.py` says which file is which page, `conf.py` is Sphinx's settings.

Nothing here asks for anything outside: not the build, and not the pages.
"""
