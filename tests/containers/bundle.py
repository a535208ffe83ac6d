"""OCI bundles for runc alone."""
import json
import os
import subprocess


def make(folder, root, *program, user=0):
    """A bundle in a new folder, over a root file system that is there."""
    os.makedirs(folder)
    subprocess.run(['runc', 'spec'], cwd=folder, check=True)
    config = read(folder)
    config['process'].update(args=list(program), terminal=False, user={'uid': user, 'gid': user})
    # Hard limits cannot be raised everywhere.
    config['process'].pop('rlimits', None)
    config['root'] = {'path': root, 'readonly': False}
    config['linux']['namespaces'] = [n for n in config['linux']['namespaces'] if n['type'] != 'network']
    write(folder, config)
    return folder


def read(folder):
    with open(os.path.join(folder, 'config.json')) as file:
        return json.load(file)


def write(folder, config):
    with open(os.path.join(folder, 'config.json'), 'w') as file:
        json.dump(config, file)


def run(state, folder, name, **keywords):
    """Runs it to its end; `state`: runc's own folder."""
    return subprocess.run(['runc', '--root', state, 'run', '-b', folder, name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **keywords)
