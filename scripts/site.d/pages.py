"""Gives MkDocs the repository's pages under their own paths, the generated reference, and the navigation."""
import json
import os
import re
from pathlib import Path

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

import commands
import counts
import interfaces

ROOT = Path(__file__).resolve().parents[2]
PAGES = ('*.md', *(f'{part}/**/*.md' for part in ('formats', 'lib', 'sample_data', 'scripts', 'tests', 'tools')))
log = get_plugin_logger('pages')
LINK = re.compile(r'(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)')
PICTURE = re.compile(r'!\[[^\]\n]*\]\(([^)\s]+)\)')


def linked(index):
    """An index page, and the pages of its folder that it links, in its order."""
    folder = Path(index).parent
    links = [os.path.normpath(folder / target) for _, target in LINK.findall((ROOT / index).read_text())]
    within = [link for link in dict.fromkeys(links) if link.endswith('.md') and Path(link).is_relative_to(folder)]
    return [index] + [link for link in within if link != index]


def folders(*parents):
    """The README of each folder below these."""
    return [str(page.relative_to(ROOT)) for parent in parents for page in sorted((ROOT / parent).rglob('README.md'))]


def navigation(generated):
    """All pages of the site, by section."""
    return [
        {'Start': ['README.md', 'CHANGELOG.md']},
        {'Guides': linked('tools/guides/README.md')},
        {'Reference': [{'Commands': [name for name in generated if name.startswith('reference/quern')]},
                       {'C++': [name for name in generated if name.startswith('reference/cpp')]},
                       {'Python': [*linked('tools/python/README.md'), *(name for name in generated if 'python' in name)]}]},
        {'Formats': linked('formats/README.md')},
        {'Benchmarks': ['BENCHMARKS.md', *linked('tests/bench/README.md')]},
        {'Architecture': ['ARCHITECTURE.md', *folders('lib', 'scripts', 'sample_data')]},
        {'Tests': ['tests/README.md', 'CONTRIBUTING.md',
                   *folders(*(f'tests/{part}' for part in ('conformance', 'formats', 'rankers', 'reports')))]},
    ]


def prepared(page):
    """The text of a page. Links to sources and to folders without a README, which the site lacks, become plain text."""
    def link(match):
        text, target = match.groups()
        path, _, anchor = target.partition('#')
        place = (ROOT / page).parent / path
        if not path or not place.exists() or path.endswith('.md'):
            return match[0]
        return f'[{text}]({path}/README.md)' if (place / 'README.md').exists() else text
    return LINK.sub(link, (ROOT / page).read_text()).replace('<!-- counts -->', counts.table(ROOT))


def notebook(text):
    """A page as a Jupyter notebook: its Python blocks are cells."""
    def cell(number, source, **more):
        kind = 'code' if more else 'markdown'
        return {'cell_type': kind, 'id': f'cell-{number}', 'metadata': {}, 'source': source.strip(), **more}
    parts = re.split(r'^```python\n(.*?)^```$', text, flags=re.M | re.S)
    cells = [cell(number, part, **({'execution_count': None, 'outputs': []} if number % 2 else {}))
             for number, part in enumerate(parts) if part.strip()]
    return json.dumps({'cells': cells, 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 5}, indent=1)


def on_config(config):
    global generated
    generated = {**commands.pages(os.environ['QUERN']), **interfaces.pages(ROOT)}
    config.nav = navigation(generated)
    pages = {str(page.relative_to(ROOT)) for pattern in PAGES for page in ROOT.glob(pattern)}
    for page in sorted(pages - set(names_in(config.nav))):
        log.warning("%s is missing from the navigation: the first page of its section doesn't link it", page)


def names_in(items):
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            yield from names_in(next(iter(item.values())))


def on_files(files, config):
    added = {}
    for page in names_in(config.nav):
        text = generated.get(page) or prepared(page)
        if page.startswith('tools/guides/') and '```python' in text:
            name = page.removesuffix('.md') + '.ipynb'
            added[name] = File.generated(config, name, content=notebook(text))
            text += f'\n[This page as a notebook]({Path(name).name}){{download}}\n'
        added[page] = File.generated(config, page, content=text)
        for picture in PICTURE.findall(text):
            path = os.path.normpath(Path(page).parent / picture)
            added[path] = File(path, str(ROOT), config.site_dir, config.use_directory_urls)
    return Files([*files, *added.values()])
