#!/usr/bin/env python3
"""
Checks a file against the rules of the Chrome trace event format: trace_format.py FILE

Stricter than the viewers: slices of a track must nest, every begin must have its end, every arrow both its ends, each
inside a slice of its track, and every process and track that is drawn must have a name.
"""
import json
import sys
from decimal import Decimal

KINDS = {'X', 'B', 'E', 'M', 'C', 'i', 's', 'f'}


class Bad(Exception):
    pass


def need(good, what, event):
    if not good:
        raise Bad(f'{what}: {event}')


def check_fields(event):
    need(isinstance(event, dict), 'an event is an object', event)
    need(event.get('ph') in KINDS, 'ph', event)
    for field in ('pid', 'tid'):
        need(isinstance(event.get(field), int) and event[field] >= 0, field, event)
    need(isinstance(event.get('name'), str) and event['name'], 'name', event)
    if event['ph'] != 'M':
        need(isinstance(event.get('ts'), (int, Decimal)) and event['ts'] >= 0, 'ts', event)
    if event['ph'] == 'X':
        need(isinstance(event.get('dur'), (int, Decimal)) and event['dur'] >= 0, 'dur', event)
    if event['ph'] in 'XMC':
        need(isinstance(event.get('args'), dict), 'args', event)
    if event['ph'] == 'C':
        need(event['args'] and all(isinstance(v, (int, Decimal)) for v in event['args'].values()), 'counters', event)
    if event['ph'] in 'sf':
        need('id' in event and event.get('cat'), 'id and cat of an arrow', event)


def check_nesting(slices):
    """Of one track: each lies in another or beside it."""
    open_until = []
    for event in sorted(slices, key=lambda e: (e['ts'], -e['dur'])):
        end = event['ts'] + event['dur']
        while open_until and open_until[-1] <= event['ts']:
            open_until.pop()
        need(not open_until or end <= open_until[-1], 'slices of a track overlap', event)
        open_until.append(end)


def check_balance(events):
    depth = {}
    for event in events:
        if event['ph'] in 'BE':
            track = event['pid'], event['tid']
            depth[track] = depth.get(track, 0) + (1 if event['ph'] == 'B' else -1)
            need(depth[track] >= 0, 'an end without a begin', event)
    need(not any(depth.values()), 'a begin without an end', depth)


def check_arrows(events, tracks):
    ends = {}
    for event in events:
        if event['ph'] in 'sf':
            pair = ends.setdefault((event['cat'], event['id']), {})
            need(event['ph'] not in pair, 'an arrow with two ends of a kind', event)
            pair[event['ph']] = event
            inside = tracks.get((event['pid'], event['tid']), {}).get(event['ts'])
            need(inside, 'an arrow ends at no slice', event)
    for pair in ends.values():
        need(set(pair) == {'s', 'f'}, 'half an arrow', pair)
        need(pair['s']['ts'] <= pair['f']['ts'], 'an arrow into the past', pair)


def check(text):
    """The events; raises Bad."""
    document = json.loads(text, parse_float=Decimal)
    events = document['traceEvents']
    tracks, begins, names = {}, {}, {}
    for event in events:
        check_fields(event)
        track = event['pid'], event['tid']
        if event['ph'] == 'X':
            tracks.setdefault(track, []).append(event)
            begins.setdefault(track, {})[event['ts']] = True
        elif event['ph'] == 'M' and event['name'].endswith('_name'):
            need(isinstance(event['args'].get('name'), str), 'the name in a name', event)
            names[event['name'], event['pid'], event['tid'] if event['name'] == 'thread_name' else 0] = event['args']['name']
    for track, slices in tracks.items():
        need(('thread_name', *track) in names, 'a track without a name', track)
        need(('process_name', track[0], 0) in names, 'a process without a name', track)
        check_nesting(slices)
    check_balance(events)
    check_arrows(events, begins)
    return events, names


if __name__ == '__main__':
    with open(sys.argv[1], encoding='ascii') as file:
        found, named = check(file.read())
    print(f'{len(found)} events on {len(named)} named processes and tracks: well formed')
