"""The reference of the executable's commands: its man pages as Markdown."""
import re
import subprocess

ESCAPES = {r'\-': '-', r'\(aq': "'", r'\(ga': '`', r'\(ha': '^', r'\(ti': '~', r'\e': '\\', r'\&': ''}
ESCAPE = re.compile('|'.join(map(re.escape, ESCAPES)))


def plain(text):
    """The characters that roff prints."""
    return ESCAPE.sub(lambda match: ESCAPES[match[0]], re.sub(r'\\f[BIR]', '', text))


def prose(text):
    """A line of roff as Markdown: options and bold words as code, names of values in italics."""
    parts = re.split(r'(\\f[BI].*?\\fR|(?<![\w-])\\-(?:\\-)?\w[\w\\-]*)', text)
    for i, part in enumerate(parts):
        if part.startswith(r'\fI'):
            parts[i] = f'*{plain(part)}*'
        elif i % 2:
            parts[i] = f'`{plain(part)}`'
        else:
            parts[i] = re.sub(r'([*_<>\[\]])', r'\\\1', plain(part))
    return ''.join(parts)


def markdown(name, page):
    """A man page as Markdown."""
    lines, out, depth, section = iter(page.splitlines()), [f'# {name}', ''], 0, ''
    for line in lines:
        macro, _, rest = line.partition(' ')
        if macro == '.SH':
            section = rest
            if section not in ('NAME', 'SYNOPSIS', 'DESCRIPTION'):
                out += ['', f'## {section.capitalize()}', '']
        elif macro == '.SS':
            out += ['', f'### {prose(rest)}', '']
        elif macro == '.TP':
            term = prose(next(lines))
            if section == 'COMMANDS':
                below = f'{name} {term.strip("`")}'
                term = f'[{term}]({below.replace(" ", "-")}.md)'
            out += ['', '    ' * depth + term, '', '    ' * depth + ':   ' + prose(next(lines))]
        elif macro == '.nf':
            next(lines)
            out += ['', '```sh', *map(plain, iter(lambda: next(lines), '.RE')), '```', '']
        elif macro in ('.RS', '.RE'):
            depth += 1 if macro == '.RS' else -1
        elif macro == '.BR':
            other = plain(rest.split()[0])
            out.append(f'[{other.replace("-", " ", 1)}]({other}.md){"," if rest.endswith(",") else ""}')
        elif macro == '.PP':
            out += ['', '    ' * depth]
        elif section == 'SYNOPSIS':
            out += ['```text', plain(line), '```', '']
        elif macro not in ('.TH', '.fi') and section != 'NAME':
            out[-1] += prose(line)
    return '\n'.join(out) + '\n'


def pages(quern):
    """The reference's pages by path: one for the executable, and one for each command."""
    def printed(*words):
        return subprocess.run([quern, 'help', *words], check=True, capture_output=True, text=True).stdout
    names = printed('--commands').splitlines()
    return {f'reference/{name.replace(" ", "-")}.md': markdown(name, printed('--man', *name.split()[1:])) for name in names}
