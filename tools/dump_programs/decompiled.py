"""The decompiled text of functions, classes and modules of the standard library, and of odd functions."""

import importlib
import os

import depyf

FUNCTIONS = """
abc:ABCMeta argparse:ArgumentParser.parse_known_args argparse:HelpFormatter ast:NodeVisitor ast:_Unparser.visit_FunctionDef
asyncio.base_events:BaseEventLoop.create_connection asyncio.locks:Condition.wait asyncio.queues:Queue asyncio.tasks:gather
base64:b85decode bisect:bisect_right calendar:TextCalendar cmd:Cmd.onecmd codecs:StreamReader collections:namedtuple
collections:Counter configparser:RawConfigParser._read contextlib:ExitStack contextlib:_GeneratorContextManager copy:deepcopy
csv:Sniffer._guess_delimiter dataclasses:_process_class dataclasses:dataclass datetime:_strptime decimal:Decimal
difflib:SequenceMatcher.find_longest_match difflib:unified_diff dis:_get_instructions_bytes email.message:Message
enum:EnumType.__new__ fnmatch:translate fractions:Fraction.__new__ functools:_lru_cache_wrapper functools:singledispatch
gettext:c2py glob:_iglob gzip:GzipFile heapq:merge http.client:HTTPConnection.request inspect:signature inspect:getmodule
ipaddress:_BaseNetwork.subnets itertools:nothing json.decoder:JSONDecoder json.encoder:_make_iterencode linecache:updatecache
locale:format_string logging:Logger.makeRecord logging.handlers:RotatingFileHandler mailbox:Maildir os:walk os:fwalk
pathlib:PurePath pickle:_Pickler.save platform:_platform plistlib:_dumps_xml pprint:PrettyPrinter posixpath:expandvars
queue:Queue.get random:Random.sample re:_compile sched:scheduler.run selectors:_BaseSelectorImpl shlex:shlex.read_token
shutil:copytree smtplib:SMTP.sendmail socket:create_connection socketserver:BaseServer.serve_forever statistics:quantiles
string:Formatter.vformat subprocess:Popen._communicate tarfile:TarFile.open tempfile:NamedTemporaryFile textwrap:TextWrapper
threading:Condition.wait_for timeit:Timer.autorange tokenize:_tokenize trace:Trace.runctx traceback:TracebackException
types:_calculate_meta typing:get_type_hints typing:NamedTuple unittest.mock:_patch urllib.parse:urlsplit uuid:UUID
warnings:warn_explicit weakref:WeakValueDictionary xml.etree.ElementTree:iterparse zipfile:ZipFile.open
""".split()
MODULES = "bisect colorsys contextlib dataclasses fnmatch functools heapq keyword quopri reprlib sched textwrap types".split()


def several(*args, key=None, **rest):
    try:
        with open(key) as one, open(args[0]) as other:
            return [line for line in one if (n := len(line)) > 3], other.read(), n
    except (OSError, IndexError) as error:
        raise ValueError(f"no {key!r:>10}") from error
    finally:
        print("done", *args, sep="\n", **rest)


async def waits(source):
    async with source as reader:
        async for item in reader:
            yield {k: await v for k, v in item.items() if v}


def matches(value):
    match value:
        case [int() | float() as first, *rest] if rest:
            return first, rest
        case {"a": {"b": [x, _, "c"]}, **others}:
            return x, others
        case str() | None | -1.5 | 2j:
            return value
        case _:
            while not value:
                value += 1
            else:
                return lambda a, /, b=1, *, c: a if b else c


class Odd(dict, metaclass=type):
    """A class."""

    x: int = 1
    __slots__ = ()

    @property
    def y(self) -> "int":
        return super().__len__() + self.__hidden

    def __hidden(self, *, z: str = "a"):
        nonlocal_value = [lambda: (yield z)]
        global CHANGED
        CHANGED = nonlocal_value[0]
        del nonlocal_value[0], self.x


def write(name, thing):
    for suffix, options in ((".py", {}), (".strict.py", {"strict": True})):
        try:
            text = depyf.decompile(thing, **options)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        with open(os.path.join("texts", name + suffix), "w") as file:
            file.write(text)


def found(target):
    module, _, path = target.partition(":")
    thing = importlib.import_module(module)
    for part in path.split(".") if path else ():
        thing = getattr(thing, part)
    return thing


os.makedirs("texts")
for target in FUNCTIONS + MODULES:
    try:
        thing = found(target)
    except AttributeError as error:
        print(error)
        continue
    write(target.replace(":", "."), thing)
for thing in (several, waits, matches, Odd, several.__code__, lambda x: x, (k for k in ()), Odd().__class__.y, print, 3):
    write(f"own_{getattr(thing, '__name__', type(thing).__name__)}", thing)
os.environ["DEPYF_REMOVE_TEMP"] = "0"
for thing in (several, waits, matches, Odd):
    write(f"without_removing_{thing.__name__}", thing)
