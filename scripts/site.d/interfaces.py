"""The reference of the C++ and Python interfaces, from declarations and docstrings."""
import ast
import re
import textwrap

HEADER = re.compile(r'^#include "quern/api/(\w+)\.hpp"', re.M)
PARAMETER = re.compile(r'^([a-z_]\w*(?:, [a-z_]\w*)*)( \([^\n]*?\))?: ', re.M)
NAME = re.compile(r'(?:class|struct|enum class|using) (\w+)|(\w+)\(')


def declarations(text):
    """(docstring, code) of each group of declarations of a header; lines before the namespace are ignored."""
    docstring, code = [], []
    for line in text[text.index('\nnamespace'):].splitlines()[1:]:
        is_within = '\n'.join(code).count('{') > '\n'.join(code).count('}')
        if code and not is_within and (not line or line.startswith('//')):
            yield '\n'.join(docstring), '\n'.join(code)
            docstring, code = [], []
        if line.startswith('///'):
            docstring.append(line[4:])
        elif is_within or line and not line.startswith(('namespace', '}', '//')) or line == '};':
            code.append(line)


def cpp_page(title, text):
    """A header as Markdown: each class with its public members, each function."""
    text = re.sub(r'\n private:.*?(?=\n};)', '', text, flags=re.S)
    text = re.sub(r'QUERN_(API|INTERNAL) ', '', text)
    text = re.sub(r'\n+(  ///[^\n]*)?\n  struct Impl;(\n  ///[^\n]*\n[^\n]*impl_; })?', '', text)
    out = [f'# {title}', '', f'`#include <quern/api/{title}>`', '']
    for docstring, code in declarations(text):
        out += [f'## {" ".join(filter(None, NAME.search(code).groups()))}', '', docstring, '', '```cpp', code, '```', '']
    return '\n'.join(out)


def prose(docstring):
    """A docstring as Markdown: parameters, which begin lines as "name: ", become items of a list."""
    text = re.sub(PARAMETER, r'- **`\1`**\2: ', docstring)
    return re.sub(r'(^|\n)(?!- )([^\n]+)\n- ', r'\1\2\n\n- ', text)


def python_item(node, prefix, level):
    """A function, or a class with its public methods, as lines of Markdown."""
    docstring = ast.get_docstring(node)
    if node.name.startswith('_') or not docstring:
        return
    yield f'{"#" * level} {prefix}{node.name}\n'
    if isinstance(node, ast.ClassDef):
        yield prose(docstring) + '\n'
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                yield from python_item(item, f'{node.name}.', level + 1)
    else:
        if not any(ast.unparse(decorator) == 'property' for decorator in node.decorator_list):
            arguments = re.sub(r'^self(, )?', '', ast.unparse(node.args))
            signature = textwrap.fill(f'{node.name}({arguments})', 90, subsequent_indent='    ')
            yield f'```python\n{signature}\n```\n'
        yield prose(docstring) + '\n'


def definitions(path):
    """A module's functions and classes by name, with those that it imports from modules beside it; and its tree."""
    tree, found = ast.parse(path.read_text()), {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.level and (source := path.parent / f'{node.module}.py').exists():
            others = definitions(source)[0]
            found.update({name.name: others[name.name] for name in node.names if name.name in others})
    return found, tree


def python_page(module, path):
    """The names that a module exports, or else all public ones that it defines."""
    found, tree = definitions(path)
    exported = [ast.literal_eval(node.value) for node in tree.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == '__all__']
    defined = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    out = [f'# {module}\n', prose(ast.get_docstring(tree)) + '\n']
    for name in exported[0] if exported else defined:
        if name in found:
            out += python_item(found[name], '', 2)
    return '\n'.join(out)


def pages(root):
    """The reference's pages by path: one for each C++ header and each public Python module."""
    api, package = root / 'lib/api', root / 'tools/python/quern'
    found = {f'reference/cpp/{name}.md': cpp_page(f'{name}.hpp', (api / f'{name}.hpp').read_text())
             for name in HEADER.findall((api / 'quern.hpp').read_text())}
    for name in ('__init__', 'pyterrier', 'shards', 'spark', 'ray'):
        module = 'quern' if name == '__init__' else f'quern.{name}'
        found[f'reference/python/{module}.md'] = python_page(module, package / f'{name}.py')
    return found
