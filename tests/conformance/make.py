"""Makes the kit's files from a seed: python3 make.py. A test compares them with those that are here."""
import json
import random
import sys
from pathlib import Path

import reference


def documents():
    """300 documents of words by Zipf's law: empty, short and long ones, and some twice, whose scores tie."""
    numbers = random.Random(1)
    words = [first + last for first in ('mi', 'gra', 'sto', 'whe', 'flo', 'wa', 'ri', 'ba', 'ke', 'du')
             for last in ('ll', 'in', 'ne', 'el', 'ur', 'ter', 'ver', 'ker', 'st', 'mp', 'rd', 'sk')]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    made = []
    for number in range(300):
        if number % 10 == 9:
            text = made[numbers.randrange(number)]['text']
        else:
            length = 0 if number == 50 else int(3 * 60 ** numbers.random())
            text = ' '.join(numbers.choices(words, weights, k=length))
        # Docnos aren't in the order of docIDs.
        made.append({'docno': f'D{number * 7919 % 1000:03d}', 'text': text})
    return words, [with_title(number, **document) for number, document in enumerate(made)]


def with_title(number, docno, text):
    """Makes a text's first words its title: none, some or all."""
    words = text.split()
    length = len(words) if number % 25 == 7 else (0, 2, 5)[number % 3]
    return {'docno': docno, 'title': ' '.join(words[:length]), 'text': ' '.join(words[length:])}


def queries(words):
    """Single words, several, repeated, unknown ones, and frequent ones with a negative idf by Robertson's formula."""
    numbers = random.Random(2)
    made = words[:3] + [words[-1]] + [f'{words[0]} {words[1]} {words[2]}', f'{words[5]} {words[5]} {words[80]}', f'unknown {words[40]}']
    made += [' '.join(numbers.choices(words, k=numbers.choice((2, 3, 4, 8)))) for _ in range(33)]
    return {str(i + 1): text for i, text in enumerate(made)}


def shortest(score):
    """The fewest digits that give the same float32."""
    return next(float(text) for digits in range(1, 10) if reference.f32(float(text := f'{score:.{digits}g}')) == score)


def files():
    words, made = documents()
    collection = reference.Collection(made)
    asked = queries(words)
    scores = {model: {qid: [[docno, shortest(score)] for docno, score in reference.ranking(collection, text, function(collection))]
                      for qid, text in asked.items()} for model, function in reference.MODELS.items()}
    lines = [f'  {json.dumps(model)}: {{\n' + ',\n'.join(f'    {json.dumps(qid)}: {json.dumps(rows)}' for qid, rows in by_query.items()) + '\n  }'
             for model, by_query in scores.items()]
    return {
        'documents.jsonl': ''.join(json.dumps(document) + '\n' for document in made),
        'queries.tsv': ''.join(f'{qid}\t{text}\n' for qid, text in asked.items()),
        'scores.json': '{\n' + ',\n'.join(lines) + '\n}\n',
    }


if __name__ == '__main__':
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else reference.FOLDER
    for name, text in files().items():
        (folder / name).write_text(text)
