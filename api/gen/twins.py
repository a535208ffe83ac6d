"""<api>_forward_client.c and <api>_forward_worker.c: a library of the software device's, forwarded (src/remote/libs/twin.h).

NAME-forward.toml says how the calls of NAME-soft.toml travel:
  number, files      of the library's requests (libs/forward.h); its files where the device is real, the newest first
  parts              files beside it that it opens later
  final              the twin's "not supported" is the answer: the status has other meanings as well
  statuses           not initialised, no memory, wrong argument, execution failed, internal error, not supported
  create, destroy    calls that make an object and the parameter that gives it out; the call that ends objects of a type
  numbers, same      objects that are numbers in the program; types whose objects are those of another type
  here               calls whose objects are the client's alone
  local              calls that the twin answers alone
  sets, sets_by      calls that set something of the object that they are about, which another worker is told when the session
                     moves (client/deeds.h); sets_by: their first argument says what, the others what to
  settles            calls for which the worker's library may wait for the device, as it frees memory (client/forward.h, settle)
  spoils             calls that leave it as nobody can make it again: it keeps the session where it is
  waits, ask, once   calls that take memory; that are waited for although nothing comes back; whose answer is always the same
  out                parameters that point to one value of the program's that is given out, as "CALL:PARAMETER"
  both               the same, of which the value before is given as well
  tells              calls whose status is an answer beside what they give out (a pivot that is 0), always in the program's memory
  list               parameters that point to an array of the program's or NULL, and the one that counts its elements
  scalar             parameters that stand here or in the device's memory, and the one that tells their type
                     "=FUNCTION:PARAMETER": where no parameter tells it, the twin of that one does, and the message says it
  result             parameters for one result, here or in the device's memory, and the one that tells their type
  kept               parameters in the program's memory that the twin alone writes; the worker's library gets NULL
  twin               parameters that the twin alone fills, as "CALL:PARAMETER": addresses are not the program's in the worker
  scratch            workspaces in the program's memory, and the parameter that counts their bytes
  pointer_mode, pointer_mode_of   calls that set and tell where scalars stand
  raw, raw_body      calls that the twin answers, and whose numbers a body written by hand has for what it sends; the worker's body
  told               a function of the twin's, which is told the library and the object before each call that the twin answers
  more               a function of the library of the software device's that is in no header, for the worker's body
  raw_about          calls of `raw` and the number of the type of objects that they are about, where it is no type of `destroy`
  [far]              where the server's library is not of the software device (it has no `more`): calls go there as they are, and a
                     descriptor of the program's goes with each call that it is in, as a recipe (libs/recipe.h)
    ask, library     functions: whether it is so for an object; the library, for bodies written by hand
    rehearse         a function: from now on the twin of such a call enqueues nothing; what it finds wrong NVIDIA's library is asked about,
                     and waited for
    descriptor       a type for whose objects the function ask_descriptor() is asked
    recipes          the types of such descriptors, and the numbers of their recipes
    calls, by_hand   calls that go there; those whose body, far_<symbol>(), is written by hand
    values           parameters that point to one number of the program's, as "CALL:PARAMETER": a "scale", or an "element"
    out, outs        as above; arrays that are given out, with what counts the room and what counts the results
    once             calls whose answer is always the same
Every other pointer is an address of the device's memory. Names of the generated functions' own variables end in _.
"""

import fnmatch
import tomllib

from .remote import plain_type
from .spec import SpecError
from .text import banner, failure, refused_by_name, ret

KEYS = {"number", "files", "statuses", "create", "destroy", "numbers", "same", "here", "local", "waits", "ask", "once", "out", "both", "list",
        "settles", "tells", "scalar", "result", "kept", "twin", "scratch", "pointer_mode", "pointer_mode_of", "final", "sets", "sets_by", "spoils",
        "raw", "raw_body", "told", "more", "raw_about", "far", "parts"}
FAR_KEYS = {"ask", "rehearse", "descriptor", "library", "recipes", "calls", "by_hand", "values", "out", "outs", "once"}


class Way:
    """How one library's calls travel."""

    def __init__(self, spec, implemented, path, shown):
        with open(path, "rb") as f:
            self.data = tomllib.load(f)
        faults = [f'{shown}: unknown key "{k}"' for k in self.data if k not in KEYS]
        self.spec, self.calls = spec, implemented
        self.create, self.destroy = self.data.get("create", {}), self.data["destroy"]
        self.numbers, self.same = self.data.get("numbers", []), self.data.get("same", {})
        self.types = {t: i + 1 for i, t in enumerate(self.destroy)}
        known = {c.symbol: {a.name for a in c.args} for c in implemented}
        for key in ("local", "settles", "waits", "ask", "once", "here", "tells", "sets", "sets_by", "spoils", "raw"):
            faults += [f'{shown}: {key} "{p}": no such call' for p in self.data.get(key, []) if not fnmatch.filter(known, p)]
        for key in ("out", "both", "list", "scalar", "result", "kept", "twin", "scratch"):
            faults += [f'{shown}: {key} "{p}": no such parameter' for p in self.data.get(key, [])
                       if not any(fnmatch.fnmatchcase(f"{c}:{a}", p) for c, args in known.items() for a in args)]
        faults += [f'{shown}: create "{c}": no such call with "{a}"' for c, a in self.create.items() if a not in known.get(c, ())]
        faults += [f'{shown}: destroy "{c}": no such call' for c in self.destroy.values() if c not in known]
        faults += [f'{shown}: {c.symbol}: parameter "{a.name}" is no address of the device' for c in implemented if self.crosses(c)
                   for a in c.args if self.role(c, a) == "device" and a.type.count("*") > 1 and "Batched" not in c.symbol]
        self.far = Far(self, spec, self.data["far"], shown) if "far" in self.data else None
        faults += self.far.faults if self.far else []
        if faults:
            raise SpecError("\n".join(faults))

    def has(self, key, call):
        return any(fnmatch.fnmatchcase(call.symbol, p) for p in self.data.get(key, []))

    def found(self, key, call, arg):
        return next((p for p in self.data.get(key, []) if fnmatch.fnmatchcase(f"{call.symbol}:{arg.name}", p)), None)

    def type_of(self, ctype):
        """The number of the type of objects, or 0."""
        name = ctype.removeprefix("const ").strip()
        return self.types.get(self.same.get(name, name), 0)

    def role(self, call, arg):
        if self.create.get(call.symbol) == arg.name:
            return "made"
        if arg.pointer:
            for key in ("out", "both", "list", "scalar", "result", "kept", "twin", "scratch"):
                if self.found(key, call, arg):
                    return key
            return "device"
        if self.type_of(arg.type):
            return "object"
        return "stream" if arg.type == "cudaStream_t" else "value"

    def length(self, key, call, arg):
        return self.data[key][self.found(key, call, arg)]

    def typed(self, call, arg):
        """Of a scalar or a result: C text of its type, and where only the twin knows it, what tells it there."""
        length = self.length(self.role(call, arg), call, arg)
        if not length.startswith("="):
            return length, None
        function, of = length[1:].split(":")
        return f"{arg.name}_type_", f"{function}({twin_argument(self, call, next(a for a in call.args if a.name == of))})"

    def objects(self, call):
        return [a for a in call.args if self.role(call, a) == "object"]

    def crosses(self, call):
        return not any(self.has(key, call) for key in ("local", "here", "raw"))

    def ends(self, call):
        return call.symbol in self.destroy.values()

    def question(self, call):
        """It waits for no work: the worker executes nothing beside it, and another thread's use of the object is not refused."""
        return self.has("once", call) or "_bufferSize" in call.symbol


class Far:
    """How calls travel to a library that is not of the software device."""

    def __init__(self, way, spec, data, shown):
        self.way, self.data, self.recipes = way, data, data.get("recipes", {})
        self.calls = [c for c in spec.calls if self.has("calls", c)]
        known = {c.symbol: {a.name for a in c.args} for c in spec.calls}
        self.faults = [f'{shown}: unknown key "far.{k}"' for k in data if k not in FAR_KEYS]
        for key in ("calls", "by_hand", "once"):
            self.faults += [f'{shown}: far.{key} "{p}": no such call' for p in data.get(key, []) if not fnmatch.filter(known, p)]
        for key in ("values", "out", "outs"):
            self.faults += [f'{shown}: far.{key} "{p}": no such parameter' for p in data.get(key, [])
                            if not any(fnmatch.fnmatchcase(f"{c}:{a}", p) for c, args in known.items() for a in args)]
        self.faults += [f'{shown}: far.calls "{c.symbol}": the software device has no such call' for c in self.calls if c not in way.calls]
        self.faults += [f'{shown}: far: {c.symbol}: parameter "{a.name}" is no address of the device' for c in self.calls for a in c.args
                        if self.role(c, a) == "device" and a.type.count("*") > 1]

    def has(self, key, call):
        return any(fnmatch.fnmatchcase(call.symbol, p) for p in self.data.get(key, []))

    def is_by_hand(self, call):
        return self.has("by_hand", call)

    def goes(self, call):
        return self.has("calls", call) and not self.is_by_hand(call)

    def recipe(self, arg):
        return self.recipes.get(plain_type(arg.type).removeprefix("const ").strip(), 0)

    def role(self, call, arg):
        if arg.pointer:
            for key in ("outs", "out", "values"):
                if any(fnmatch.fnmatchcase(f"{call.symbol}:{arg.name}", p) for p in self.data.get(key, [])):
                    return key
            return "device"
        return "recipe" if self.recipe(arg) else "object" if self.way.type_of(arg.type) else "value"

    def value(self, call, arg):
        return next(v for p, v in self.data["values"].items() if fnmatch.fnmatchcase(f"{call.symbol}:{arg.name}", p))

    def counts(self, call, arg):
        """Of an array that is given out: the parameters that count the room and the results."""
        return next(v for p, v in self.data["outs"].items() if fnmatch.fnmatchcase(f"{call.symbol}:{arg.name}", p))


def outputs(way):
    n = way.spec.name
    return {f"{n}_forward_client.c": client_source(way), f"{n}_forward_worker.c": worker_source(way)}


# Client ------------------------------------------------------------------------------------------------------------------


def statuses(way):
    return "{ " + ", ".join(way.data["statuses"]) + " }"


def client_source(way):
    s, n, up = way.spec, way.spec.name, way.spec.upper
    out = [banner(s, f"the client of the {n} API, forwarded"), f'#include "{n}_soft.h"', '#include "remote/libs/twin.h"', "",
           *([f"void {way.data['told']}(const struct forward_library *library, const void *object);", ""] if way.data.get("told") else []),
           *far_prototypes(way), *type_prototypes(way), "static const struct forward_library library_ = {", f"\t.number = {way.data['number']},", f'\t.title = "{s.title}",',
           f'\t.refused = "{s.not_supported}",', f"\t.status = {statuses(way)},", *(["\t.final = true,"] if way.data.get("final") else []), "};", ""]
    if way.far:
        out += [f"const struct forward_library *{way.far.data['library']}(void)", "{", "\treturn &library_;", "}", ""]
    for ctype, call in way.destroy.items():
        number = ctype in way.numbers
        out += [f"static void end_{ctype}(void *twin_)", "{", *([f"\ttwin_number((int)(uintptr_t)twin_, NULL);"] if number else []),
                f"\tsoft_{call}(({ctype})(uintptr_t)twin_);", "}", ""]
    done = {c.symbol for c in way.calls}
    for c in s.calls:
        out += [f"__attribute__((visibility(\"default\"))) {c.prototype()};", c.prototype(), "{",
                *far_client(way, c), *(client_body(way, c) if c.symbol in done else refusal(s, c)), "}", ""]
    out += refused_by_name(s, None, "forward_tell(&library_, ")
    return "\n".join(out)


def type_prototypes(way):
    """Functions of the twin's that tell the type of a scalar."""
    told = {v[1:].split(":")[0]: next(a.type for c in way.calls for a in c.args if a.name == v.split(":")[1])
            for v in way.data.get("scalar", {}).values() if v.startswith("=")}
    return [f"unsigned int {function}({plain_type(ctype)} of);" for function, ctype in told.items()] + [""] * bool(told)


def far_prototypes(way):
    if not way.far:
        return []
    by_hand = [f"{c.prototype().replace(c.symbol, 'far_' + c.symbol, 1)};" for c in way.spec.calls if way.far.is_by_hand(c)]
    return ['#include "remote/libs/recipe.h"', "", f"const struct forward_library *{way.far.data['library']}(void);", *by_hand, ""]


def far_about(way, c):
    """C text: the object that a call is about, or NULL."""
    return next((a.name for a in c.args if way.type_of(a.type)), "NULL")


def far_client(way, c):
    """What stands before the body: where the library is another one, the call goes there."""
    far = way.far
    if not far or not (far.goes(c) or far.is_by_hand(c)):
        return []
    about = far_about(way, c)
    if far.is_by_hand(c):
        call = f"far_{c.symbol}({', '.join(a.name for a in c.args)})"
        described = next((a.name for a in c.args if a.type.removeprefix("const ") == far.data.get("descriptor")), None)
        asked = f"_descriptor({described})" if about == "NULL" and described else f"({about})"
        return [f"\tif ({far.data['ask']}{asked})", f"\t\treturn {call};"]
    outs = [a for a in c.args if far.role(c, a) in ("out", "outs")]
    kind = "TWIN_ASK_ONCE" if far.has("once", c) else "TWIN_ASK" if outs else "status_ ? TWIN_ASK : TWIN_RUN"
    twin = f"soft_{c.symbol}({', '.join(twin_argument(way, c, a) for a in c.args)})"
    rehearsed = [] if outs else ["\t\tint status_;", "", f"\t\t{far.data['rehearse']}(true);", f"\t\tstatus_ = (int){twin};",
                                 f"\t\t{far.data['rehearse']}(false);"]
    out = [f"\tif ({far.data['ask']}({about})) {{", "\t\tstruct twin_call c_;", *(rehearsed or [""]), "\t\ttwin_enter(&c_, &library_);",
           f"\t\tif (far_begin(&c_, {way.spec.upper}_CALL_{c.symbol}, {about}, {kind}, {far_room(far, c)})) {{"]
    for a in c.args:
        role = far.role(c, a)
        if role == "recipe":
            out += [f"\t\t\trecipe_put(&c_, {far.recipe(a)}, (const void *){a.name});"]
        elif role == "values":
            out += [f"\t\t\trecipe_put_{far.value(c, a)}(&c_, {a.name}, {far_typed(far, c)});"]
        elif role == "value":
            out += [f"\t\t\tforward_put(&c_.f, &{a.name}, sizeof({a.name}));"]
        elif role == "device":
            out += [f"\t\t\tforward_put_address(&c_.f, (const void *){a.name});"]
    if outs:
        out += ["\t\t\tif (twin_send(&c_)) {"]
        for a in outs:
            if far.role(c, a) == "out":
                out += [f"\t\t\t\ttwin_get(&c_, {a.name}, sizeof(*{a.name}));"]
        for a in outs:
            if far.role(c, a) == "outs":
                room, filled = far.counts(c, a)
                out += [f"\t\t\t\trecipe_get_list(&c_, {a.name}, {room}, {filled}, sizeof(*{a.name}));"]
        out += ["\t\t\t}"]
    else:
        out += ["\t\t\ttwin_send(&c_);"]
    return [*out, "\t\t}", f"\t\treturn ({c.returns})twin_end(&c_);", "\t}"]


def far_room(far, c):
    rooms = [f"recipe_room({far.recipe(a)}, (const void *){a.name})" for a in c.args if far.recipe(a)]
    return " + ".join(rooms) or "0"


def far_typed(far, c):
    """C text: a tensor of the call, whose type says how wide numbers in the program's memory are."""
    return next((f"(const void *){a.name}" for a in c.args if far.recipe(a) == 1), "NULL")


def refusal(spec, c):
    return [f'\tforward_tell(&library_, "{c.symbol}");', f"\t{ret(c)}{failure(spec, c)};" if ret(c) else "\treturn;"]


def program_object(way, arg):
    """C text: the object as the client knows it."""
    return f"twin_object({arg.name})" if arg.type in way.numbers else f"(const void *){arg.name}"


def twin_argument(way, c, arg):
    role = way.role(c, arg)
    if role == "object":
        return f"({plain_type(arg.type)})(uintptr_t)twin_of({program_object(way, arg)}, {way.type_of(arg.type)})"
    if role == "made":
        return f"{arg.name} ? &twin_ : NULL"
    return arg.name


def client_body(way, c):
    twin = f"soft_{c.symbol}({', '.join(twin_argument(way, c, a) for a in c.args)})"
    made = next((a for a in c.args if way.role(c, a) == "made"), None)
    if way.has("here", c):
        return here_body(way, c, made, twin)
    if way.ends(c):
        return destroy_body(way, c)
    if not way.crosses(c):
        about = next(iter(way.objects(c)), None)
        told = [f"\t{way.data['told']}(&library_, {program_object(way, about)});"] if about and way.data.get("told") else []
        return [*told, f"\t{ret(c)}{twin};"]
    scalars = [a for a in c.args if way.role(c, a) in ("scalar", "result")]
    results = [a for a in c.args if way.role(c, a) == "result"]
    outs = [a for a in c.args if way.role(c, a) in ("out", "both")]
    about = next(iter(way.objects(c)), None)
    out = ["\tstruct twin_call c_;", *([f"\t{made.target} twin_ = 0;"] if made else []), "\tint status_;",
           *(["\tbool here_ = true;"] if scalars else []), "", *(["\tforward_settle();"] if way.has("settles", c) else []),
           "\ttwin_enter(&c_, &library_);"]
    out += [f"\tstatus_ = (int){twin};"]
    call = f"{way.spec.upper}_CALL_{c.symbol}"
    if scalars:
        out += pointer_mode(way, about)
    if made:
        waits = "true" if way.has("waits", c) else "false"
        out += [f"\tif (twin_make(&c_, status_, {call}, {waits}, 0)) {{"]
    else:
        kind = "TWIN_ASK_ONCE" if way.has("once", c) else "TWIN_ASK" if outs or way.has("ask", c) else \
            f"here_ && {results[0].name} ? TWIN_ASK : TWIN_RUN" if results else "TWIN_RUN"
        out += [f"\tif (twin_begin(&c_, status_, {call}, {program_object(way, about)}, {kind}, 0)) {{"]
    for key in ("sets", "sets_by", "spoils"):
        if way.has(key, c):
            out += [f"\t\tforward_changes(&c_.f, FORWARD_{key.upper()});"]
    for a in sorted(c.args, key=lambda a: way.role(c, a) in ("scalar", "result")):  # behind what tells their type
        if a is not about or made:
            out += ["\t" + line for line in client_put(way, c, a)]
    if outs:
        tells = ["\t\t\ttwin_get(&c_, &c_.f.status, sizeof(c_.f.status));"] if way.has("tells", c) else []
        out += ["\t\tif (twin_send(&c_)) {", *(f"\t\t\ttwin_get(&c_, {a.name}, sizeof(*{a.name}));" for a in outs), *tells, "\t\t}"]
    elif results:
        out += ["\t\tif (twin_send(&c_) && here_) {", *(f"\t\t\ttwin_get(&c_, {a.name}, forward_type_bytes((unsigned int){way.typed(c, a)[0]}));"
                                                     for a in results), "\t\t}"]
    else:
        out += ["\t\ttwin_send(&c_);"]
    out += ["\t}"]
    if made:
        return out + create_end(way, c, made)
    return [*out, f"\treturn ({c.returns})twin_end(&c_);"]


def pointer_mode(way, about):
    mode = way.data["pointer_mode_of"]
    enum = next(a for x in way.calls if x.symbol == mode for a in x.args if a.pointer).target
    return ["\t{", f"\t\t{enum} mode_ = 0;", "",
            f"\t\tsoft_{mode}(({plain_type(about.type)})twin_of({about.name}, {way.type_of(about.type)}), &mode_);",
            "\t\there_ = mode_ == 0;", "\t}"]


def create_end(way, c, made):
    ctype = way.same.get(made.target, made.target)
    out = [f"\tstatus_ = twin_made(&c_, (void *)(uintptr_t)twin_, {way.type_of(made.target)}, end_{ctype});", "\tif (status_)",
           f"\t\treturn ({c.returns})status_;"]
    if made.target in way.numbers:
        out += ["\ttwin_number(twin_, c_.made);", f"\t*{made.name} = twin_;"]
    else:
        out += [f"\t*{made.name} = ({made.target})c_.made;"]
    return [*out, f"\treturn {way.spec.success};"]


def destroy_body(way, c):
    """The twin goes with what is kept with the object."""
    about, ctype = c.args[0], plain_type(c.args[0].type)
    thing = program_object(way, about)
    return ["\tstruct twin_call c_;", f"\tvoid *twin_ = twin_of({thing}, {way.type_of(about.type)});", "\tint status_;", "",
            f"\tif (!twin_ || twin_leaves({thing}))", f"\t\treturn soft_{c.symbol}(({ctype})(uintptr_t)twin_);",
            *(["\tforward_settle();"] if way.has("settles", c) else []), "\ttwin_enter(&c_, &library_);",
            f"\tif (twin_begin(&c_, 0, {way.spec.upper}_CALL_{c.symbol}, {thing}, TWIN_RUN, 0))",
            "\t\ttwin_send(&c_);", "\tstatus_ = twin_end(&c_);", f"\ttwin_gone({thing});", f"\treturn ({c.returns})status_;"]


def here_body(way, c, made, twin):
    return [f"\t{made.target} twin_ = 0;", f"\t{c.returns} status_ = {twin};", "", "\tif (status_)", "\t\treturn status_;",
            f"\t*{made.name} = ({made.target})(uintptr_t)twin_here(twin_, {way.type_of(made.target)});", f"\tif (*{made.name})",
            f"\t\treturn {way.spec.success};", f"\tend_{made.target}(twin_);", f"\treturn {way.data['statuses'][1]};"]


def client_put(way, c, a):
    role = way.role(c, a)
    if role == "object":
        return [f"\ttwin_put_object(&c_, {program_object(way, a)});"]
    if role == "stream":
        return [f"\tforward_put_stream(&c_.f, (CUstream){a.name});"]
    if role == "value":
        return [f"\tforward_put(&c_.f, &{a.name}, sizeof({a.name}));"]
    if role == "device":
        return [f"\tforward_put_address(&c_.f, (const void *){a.name});"]
    if role == "list":
        return [f"\ttwin_put_list(&c_, {a.name}, (uint64_t){way.length('list', c, a)}, {element(a)});"]
    if role in ("scalar", "result"):
        ctype, told = way.typed(c, a)
        typed = [f"\tunsigned int {ctype} = (unsigned int){told};", "", f"\tforward_put(&c_.f, &{ctype}, sizeof({ctype}));"] if told else []
        put = [*typed, f"\tforward_put_placed(&c_.f, {a.name}, forward_type_bytes((unsigned int){ctype}), "
               f"{'FORWARD_IN' if role == 'scalar' else 'FORWARD_OUT'}, here_ && {a.name});"]
        return ["\t{", *("\t" + line if line else "" for line in put), "\t}"] if told else put
    if role == "both":
        return [f"\tforward_put(&c_.f, {a.name}, sizeof(*{a.name}));"]
    return []  # made, out, kept, twin, scratch


def element(a):
    return "1" if a.target in ("void", "const void") else f"sizeof(*{a.name})"


# Worker ------------------------------------------------------------------------------------------------------------------


def worker_source(way):
    s, n, up = way.spec, way.spec.name, way.spec.upper
    going = [c for c in way.calls if way.crosses(c)]
    out = [banner(s, f"the worker of the {n} API, forwarded"), f'#include "{n}_table.h"',
           f'#include "remote/libs/{"recipe_serve" if way.far else "serve"}.h"', "",
           f"static void *functions_[{up}_CALL_COUNT];", ""]
    raw = way.data.get("raw_body")
    more = way.data.get("more")
    out += [f"int {raw}(struct forward_work *work);", ""] if raw else []
    out += [f"extern void *{n}_more;", f"void *{n}_more;", ""] if more else []
    for c in going:
        out += handler(way, c)
    far = [c for c in way.calls if way.far and way.far.goes(c)]
    for c in far:
        out += far_handler(way, c)
    out += [f"static const forward_run handlers_[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = run_{c.symbol}," for c in going + far]
    out += ["};", "", f"static const unsigned char about_[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = {way.type_of(way.objects(c)[0].type)}," for c in way.calls
            if (way.crosses(c) or way.has("raw", c) or c in far) and way.objects(c) and c.symbol not in way.create]
    out += [f"\t[{up}_CALL_{call}] = {number}," for call, number in way.data.get("raw_about", {}).items()]
    names = ", ".join(f'"{f}"' for f in way.data["files"])
    mode = way.data.get("pointer_mode")
    out += ["};", "", f"extern const struct forward_served {n}_served;", "", f"const struct forward_served {n}_served = {{",
            f'\t.title = "{s.title}",', f"\t.names = {n}_call_name,", f"\t.count = {up}_CALL_COUNT,", "\t.functions = functions_,",
            "\t.handlers = handlers_,", "\t.about = about_,",
            f'\t.files = {{ {{ "METE_FORWARD_{up}", "{way.data["files"][0]}", {{ {names} }} }} }},',
            *([f'\t.parts = "{way.data["parts"]}",'] if "parts" in way.data else []),
            *([f"\t.pointer_mode = {up}_CALL_{mode},"] if mode else []), '\t.prepare = "mete_library_prepare",', "\t.alone = true,",
            *([f"\t.by_hand = {raw},"] if raw else []), *([f'\t.more = "{more}",', f"\t.more_function = &{n}_more,"] if more else []),
            f"\t.status = {statuses(way)},", "};", ""]
    return "\n".join(out)


def handler(way, c):
    head, body, ready, after, passed = [], [], [], [], {}
    creates = c.symbol in way.create
    about = None if creates else next(iter(way.objects(c)), None)
    if creates:
        head.append("\tuint64_t id_ = 0;")
        body.append("\tforward_get(w_, &id_, sizeof(id_));")
    for a in c.args:
        role, ctype = way.role(c, a), plain_type(a.type)
        if a is about:
            passed[a.name] = f"({ctype})(uintptr_t)w_->handle"
        elif role == "made":
            head.append(f"\t{a.target} made_ = 0;")
            passed[a.name] = "&made_"
        elif role == "object":
            head.append(f"\t{ctype} {a.name};")
            body.append(f"\t{a.name} = ({ctype})(uintptr_t)forward_get_object(w_, {way.type_of(a.type)});")
        elif role == "stream":
            head.append(f"\t{ctype} {a.name};")
            body.append(f"\t{a.name} = ({ctype})forward_get_stream(w_);")
        elif role == "value":
            head.append(f"\t{ctype} {a.name} = 0;")
            body.append(f"\tforward_get(w_, &{a.name}, sizeof({a.name}));")
        elif role == "device":
            head.append(f"\tuint64_t {a.name};")
            body.append(f"\tforward_get_device(w_, &{a.name});")
            passed[a.name] = f"(void *)(uintptr_t){a.name}"
        elif role == "list":
            head.append(f"\tstruct forward_list {a.name};")
            body.append(f"\tforward_get_list(w_, &{a.name});")
            passed[a.name] = f"{a.name}.at"
        elif role in ("out", "both"):
            head.append(f"\t{a.target} {a.name}_value_ = 0;")
            if role == "both":
                body.append(f"\tforward_get(w_, &{a.name}_value_, sizeof({a.name}_value_));")
            passed[a.name] = f"&{a.name}_value_"
            after.append(f"\tforward_put(w_, &{a.name}_value_, sizeof({a.name}_value_));")
        elif role == "kept":
            passed[a.name] = "NULL"
        elif role == "twin":
            head.append(f"\t{a.target} {a.name}_value_ = 0;")
            passed[a.name] = f"&{a.name}_value_"
        elif role == "scratch":
            head.append(f"\tvoid *{a.name};")
            ready += [f"\t{a.name} = forward_scratch(w_, {way.length('scratch', c, a)});",
                      f"\tif ({way.length('scratch', c, a)} && !{a.name}) {{", "\t\tw_->status = w_->library->status.alloc_failed;",
                      "\t\treturn 0;", "\t}"]
    for a in c.args:  # behind what tells their type
        if (role := way.role(c, a)) in ("scalar", "result"):
            ctype, told = way.typed(c, a)
            if told:
                head.append(f"\tunsigned int {ctype} = 0;")
                body.append(f"\tforward_get(w_, &{ctype}, sizeof({ctype}));")
            head.append(f"\tstruct forward_scalar {a.name};")
            body.append(f"\tforward_get_scalar(w_, &{a.name}, forward_type_bytes((unsigned int){ctype}), "
                        f"{'FORWARD_IN' if role == 'scalar' else 'FORWARD_OUT'});")
            passed[a.name] = f"{a.name}.at"
            if role == "result":
                after.append(f"\tforward_put_scalar(w_, &{a.name});")
    if any(way.role(c, a) == "scratch" for a in c.args):
        ready = scratch_needed(way, c, passed) + ready
    if way.has("tells", c):
        body.append("\tw_->place = FORWARD_IN_HOST;")
        after += ["\tforward_put(w_, &w_->status, sizeof(w_->status));", "\tw_->status = 0;"]
    pointer = f"((__typeof__(((struct {way.spec.name}_table *)0)->{c.symbol}))w_->function)"
    checks = list_checks(way, c) + (["\tw_->ends = true;"] if way.ends(c) else []) + (["\tw_->stays = true;"] if way.question(c) else [])
    call = f"{pointer}({', '.join(passed.get(a.name, a.name) for a in c.args)})"
    out = [f"static int run_{c.symbol}(struct forward_work *w_)", "{", *head, "", *body, *checks, "\tif (!forward_ready(w_))",
           "\t\treturn forward_refuse(w_);", *ready, f"\tw_->status = (int){call};"]
    if creates:
        made = next(a for a in c.args if way.role(c, a) == "made")
        end = way.destroy[way.same.get(made.target, made.target)]
        return [*out, "\treturn w_->status ? 0 : forward_made(w_, id_, "
                f"{way.type_of(made.target)}, (void *)(uintptr_t)made_, {way.spec.upper}_CALL_{end});", "}", ""]
    if way.ends(c):
        after.append("\tforward_gone(w_);")
    return [*out, *after, "\treturn 0;", "}", ""]


def far_handler(way, c):
    far, head, body, passed, given, lists = way.far, [], [], {}, [], []
    about = next((a for a in c.args if way.type_of(a.type)), None)
    for a in c.args:
        role, ctype = far.role(c, a), plain_type(a.type)
        if a is about:
            passed[a.name] = f"({ctype})(uintptr_t)w_->handle"
        elif role == "recipe":
            head.append(f"\t{ctype} {a.name};")
            body.append(f"\t{a.name} = ({ctype})recipe_take(w_, {far.recipe(a)});")
        elif role == "values":
            head.append(f"\tstruct recipe_value {a.name};")
            body.append(f"\trecipe_take_value(w_, &{a.name});")
            passed[a.name] = f"{a.name}.at"
        elif role == "value":
            head.append(f"\t{ctype} {a.name} = 0;")
            body.append(f"\tforward_get(w_, &{a.name}, sizeof({a.name}));")
        elif role == "device":
            head.append(f"\tuint64_t {a.name};")
            body.append(f"\tforward_get_device(w_, &{a.name});")
            passed[a.name] = f"(void *)(uintptr_t){a.name}"
        elif role in ("out", "both"):
            head.append(f"\t{a.target} {a.name}_value_ = 0;")
            if role == "both":
                body.append(f"\tforward_get(w_, &{a.name}_value_, sizeof({a.name}_value_));")
            passed[a.name] = f"&{a.name}_value_"
            given.append(f"\tforward_put(w_, &{a.name}_value_, sizeof({a.name}_value_));")
        elif role == "outs":
            room, filled = far.counts(c, a)
            head += [f"\t{a.target} {a.name}_list_[RECIPE_RESULTS_MOST] = {{ 0 }};"]
            body.append(f"\tw_->unsound |= {room} < 0 || {room} > RECIPE_RESULTS_MOST;")
            passed[a.name] = f"{a.name}_list_"
            lists += [f"\tif ({filled}_value_ < 0 || {filled}_value_ > {room})", f"\t\t{filled}_value_ = {room};",
                      f"\tforward_put(w_, {a.name}_list_, (size_t){filled}_value_ * sizeof({a.name}_list_[0]));"]
    pointer = f"((__typeof__(((struct {way.spec.name}_table *)0)->{c.symbol}))w_->function)"
    call = f"{pointer}({', '.join(passed.get(a.name, a.name) for a in c.args)})"
    return [f"static int run_{c.symbol}(struct forward_work *w_)", "{", *head, "", *body, "\tif (!recipe_ready(w_))",
            "\t\treturn recipe_refuse(w_);", f"\tw_->status = (int){call};", *given, *lists, "\trecipe_drop(w_);", "\treturn 0;", "}", ""]


def scratch_needed(way, c, passed):
    """The library writes as much as it needs, whatever it is told: it is asked how much that is."""
    sizes = next(k for k in way.spec.calls if k.symbol == c.symbol + "_bufferSize")
    mine = {a.name for a in c.args}
    scratch = next(a for a in c.args if way.role(c, a) == "scratch")
    counts = way.length("scratch", c, scratch)
    given = []
    for a in sizes.args:
        if a.name == counts:
            given.append("&needed_")
        elif a.type.startswith("size_t *"):
            given.append("&others_")
        else:
            given.append(passed.get(a.name, a.name) if a.name in mine else "&(int64_t){ 0 }")
    function = f"functions_[{way.spec.upper}_CALL_{sizes.symbol}]"
    call = f"((__typeof__(((struct {way.spec.name}_table *)0)->{sizes.symbol})){function})({', '.join(given)})"
    return ["\tsize_t needed_ = 0, others_ = 0;", "", f"\tw_->status = {function} ? (int){call} : w_->library->status.not_supported;",
            f"\tif (!w_->status && {counts} < needed_)", "\t\tw_->status = w_->library->status.invalid;", "\tif (w_->status)",
            "\t\treturn 0;"]


def list_checks(way, c):
    """An array is as long as the parameter that counts it says."""
    out = []
    for a in c.args:
        if way.role(c, a) == "list":
            size = "1" if a.target in ("void", "const void") else f"sizeof({plain_type(a.target)})"
            out += [f"\tforward_check_list(w_, &{a.name}, (uint64_t){way.length('list', c, a)}, {size});"]
    return out
