"""CDI files of the form that NVIDIA's toolkit writes, for GPUs that are software devices: fields as its documentation has them."""
import json
import os

LIB = '/usr/lib/x86_64-linux-gnu'
VERSION = '535.104.05'
# Of nodes that any machine has.
NODES = {'/dev/nvidiactl': '/dev/null', '/dev/nvidia-uvm': '/dev/zero', '/dev/nvidia-uvm-tools': '/dev/zero'}


def mount(host, inside=None):
    return {'hostPath': host, 'containerPath': inside or host, 'options': ['ro', 'nosuid', 'nodev', 'bind']}


def hook(*words):
    """As `nvidia-cdi-hook` is called; here of a program that is everywhere."""
    return {'hookName': 'createContainer', 'path': '/bin/true', 'args': ['nvidia-cdi-hook', *words]}


def device(name, index):
    return {'name': name, 'containerEdits': {
        'deviceNodes': [{'path': f'/dev/nvidia{index}', 'hostPath': '/dev/null', 'permissions': 'rw'},
                        {'path': f'/dev/dri/renderD{128 + index}', 'hostPath': '/dev/full'}],
        'hooks': [hook('create-symlinks', '--link', f'../card{index}::/dev/dri/by-path/pci-0000:0{index}:00.0-card'),
                  hook('chmod', '--mode', '755', '--path', '/dev/dri')]}}


def spec(soft, names, version='0.5.0', **edits):
    """`names`: a name and an index each. `soft`: the folder of the libraries that stand for the driver's."""
    devices = [device(name, index) for name, index in names]
    everything = [node for d in devices for node in d['containerEdits']['deviceNodes']]
    if 'all' not in [name for name, _ in names]:
        devices.append({'name': 'all', 'containerEdits': {'deviceNodes': everything}})
    common = {
        'env': ['NVIDIA_VISIBLE_DEVICES=void'],
        'deviceNodes': [{'path': path, 'hostPath': host} for path, host in NODES.items()],
        'mounts': [mount(f'{soft}/libcuda.so.1', f'{LIB}/libcuda.so.{VERSION}'),
                   mount(f'{soft}/libnvidia-ml.so.1', f'{LIB}/libnvidia-ml.so.{VERSION}'),
                   mount(f'{soft}/libcuda.so.1', f'{LIB}/libnvidia-ptxjitcompiler.so.{VERSION}'),
                   mount('/bin/true', '/usr/bin/nvidia-smi')],
        'hooks': [hook('create-symlinks', '--link', f'libcuda.so.1::{LIB}/libcuda.so'),
                  hook('enable-cuda-compat', '--host-driver-version', VERSION),
                  hook('update-ldcache', '--folder', LIB)],
        **edits}
    return {'cdiVersion': version, 'kind': 'nvidia.com/gpu', 'devices': devices, 'containerEdits': common}


def yaml(value, indent=''):
    """Block style, as the toolkit writes it; texts that look like numbers in quotes."""
    if isinstance(value, (str, int)):
        return ' ' + (json.dumps(value) if str(value)[:1].isdigit() or not str(value).isprintable() else str(value)) + '\n'
    if isinstance(value, dict):
        return '\n' + ''.join(f'{indent}{key}:{yaml(value[key], indent + "  ")}' for key in sorted(value))
    text = '\n'
    for entry in value:
        inner = yaml(entry, indent + '  ')
        text += f'{indent}-{inner}' if isinstance(entry, (str, int)) else f'{indent}- {inner.lstrip()}'
    return text


def write(path, content):
    """A text as it is; an object as JSON or YAML, by the name."""
    with open(path, 'w') as file:
        if isinstance(content, str):
            file.write(content)
        elif path.endswith('.json'):
            json.dump(content, file)
        else:
            file.write('---' + yaml(content))
    return path


def folder(build):
    return os.path.join(build, 'src/softdev')
