"""Coroutines, async loops and generators come back as source, not as disassembly."""

from __future__ import annotations

import pytest
from decompile_tools import assert_proved, assert_same_text

PROVED = {
    "comprehensions that store to attributes and items": """
        async def f(a, t):
            x = [0 async for a.y in t]
            y = {0: 1 async for a.y, a[0] in t if a}
            return x, y, [await a async for a[t] in t if await a], [0 for b in t async for a.x in b]
    """,
    "an async for loop": """
        async def f(a):
            async for x in a:
                g(x)
    """,
    "an async for loop with else": """
        async def f(a):
            async for x in a:
                g(x)
            else:
                h()
            return 1
    """,
    "break past the else of an async for": """
        async def f(a):
            async for x in a:
                if x: break
                g(x)
            else:
                h()
            return 1
    """,
    "continue in an async for": """
        async def f(a):
            async for x in a:
                if x: continue
                g(x)
            k()
    """,
    "return out of an async for": """
        async def f(a):
            async for x in a:
                if x: return x
                g(x)
            k()
    """,
    "nested async for with else and continue": """
        async def f(a):
            async for x, y in a:
                async for z in b(y):
                    if z:
                        break
                    await g(x, z)
                else:
                    continue
                h()
            k()
    """,
    "break of an async for inside a while": """
        async def f(a):
            while a():
                async for x in a:
                    if x: break
                    g(x)
                if a: break
    """,
    "continue and return of an async for inside a for": """
        async def f(a):
            for y in a:
                async for x in y:
                    if x: continue
                    return g(x)
    """,
    "an attribute as the variable of an async for": """
        async def f(a):
            async for x.y in a:
                pass
    """,
    "try except finally inside an async for": """
        async def f(a):
            async for x in a:
                try:
                    g(x)
                except ValueError:
                    continue
                finally:
                    h()
    """,
    "an async for inside try except finally": """
        async def f(a):
            try:
                async for x in a:
                    g(x)
                    if x: return 5
            except ValueError as e:
                log(e)
            finally:
                h()
    """,
    "an async for inside an async with": """
        async def f(a):
            async with a as b:
                async for x in b:
                    if x: return
                    yield x
    """,
    "an async with that does nothing": """
        async def f(a):
            async with a: pass
    """,
    "an async with of three managers": """
        async def f(a):
            async with a as b, c as d, e:
                return await g(b, d)
    """,
    "an async with that unpacks what it enters": """
        async def f(a):
            async with a as (b, c):
                return 3
            return 4
    """,
    "break and continue out of an async with": """
        async def f(a):
            while True:
                async with a as b:
                    if await b: break
                    if b.x: continue
                    await c
                d()
    """,
    "continue at the end of an async with": """
        async def f(a):
            for x in a:
                async with x:
                    await x
                    continue
                y()
    """,
    "with and async with nested": """
        async def f(a):
            async with a as x:
                with b as y:
                    async with c as z:
                        return x + y + z
    """,
    "an async with inside try except finally": """
        async def f(a):
            try:
                async with a as b:
                    await c
            except E:
                await d
            finally:
                await e
    """,
    "await in every kind of expression": """
        async def f(a):
            x = await a
            y = [await b, await c]
            z = (await d) + (await e)
            return await f(await g(await h), k=await l) if await m else await n
    """,
    "an async list comprehension": """
        async def f(a):
            return [x async for x in a]
    """,
    "an async comprehension with an awaited condition": """
        async def f(a):
            return [x async for x in a if await x]
    """,
    "an async dict comprehension with several loops": """
        async def f(a):
            return {x: await y async for x, y in a if x for z in y if z}
    """,
    "an async set comprehension with two async loops": """
        async def f(a):
            return {x async for x in a async for y in x}
    """,
    "an async generator expression": """
        async def f(a):
            return (x async for x in a if x)
    """,
    "a comprehension that awaits": """
        async def f(a):
            return [await x for x in a]
    """,
    "nested async comprehensions": """
        async def f(a):
            return [[await y for y in x] async for x in a]
    """,
    "a generator expression that awaits": """
        async def f(a):
            return (await x for x in a)
    """,
    "an async generator expression with two loops": """
        async def f(a):
            return (y async for x in a async for y in await x if y)
    """,
    "an async generator": """
        async def f(a):
            yield 1
            x = yield a
            y = yield
            await x
            yield (await y)
            return
    """,
    "an async generator that awaits in finally": """
        async def f(a):
            try:
                yield 1
                await a
            finally:
                await b
                yield 3
    """,
    "an async generator that catches GeneratorExit": """
        async def f(a):
            try:
                yield 1
            except GeneratorExit:
                await b
                raise
    """,
    "yield from as an expression": """
        def f(a):
            x = yield from a
            y = yield from (yield x)
            return (yield from y) + (yield 2)
    """,
    "yield inside a with block": """
        def f(a):
            yield
            with a as b:
                x = yield b
                yield from x
                if x: return (yield)
    """,
    "yield in every part of a try": """
        def f(a):
            try:
                yield
            except E as e:
                yield e
            else:
                yield 3
            finally:
                yield 4
    """,
    "yield in try finally inside a loop": """
        def f(a):
            while True:
                try:
                    x = yield
                except StopIteration:
                    return
                finally:
                    z()
                print((yield), (yield 3))
    """,
    "a list comprehension in a plain function": """
        def f(a):
            return [(yield1, z) for z in a]
    """,
    "yield in targets and statements": """
        def f(a):
            x = (yield)[0]
            (yield).b = yield
            (yield)[(yield)] = 3
            del (yield).x
            assert (yield), (yield 1)
            lambda: (yield)
    """,
    "an async generator used in a comprehension": """
        async def f(a):
            async def g():
                async for x in a:
                    yield x
            return [x async for x in g()]
    """,
    "two async for loops in a row": """
        async def f(a):
            async for x in a: pass
            async for y in a: pass
    """,
    "an async for in one arm of an if": """
        async def f(a):
            if a:
                async for x in a:
                    g(x)
            else:
                h()
            return k
    """,
    "leaving with blocks inside an async for": """
        async def f(a):
            async for x in a:
                with x:
                    if y: break
                    if z: continue
                    if w: return
                async with y as z:
                    if y: break
                    if z: continue
                    if w: return 3
            else:
                k()
            l()
    """,
    "an async with in a finally": """
        async def f(a):
            try:
                async for x in a:
                    await x
            finally:
                async with q:
                    await z
    """,
    "an async for over an awaited attribute": """
        async def f(a):
            async for x in (await b).c:
                lambda: x
    """,
    "async except clauses": """
        async def f(self):
            try:
                await x
            except A:
                pass
            except (B, C) as e:
                await y(e)
                return 3
            else:
                await z
    """,
    "return of an await in try finally in async with": """
        async def f(self):
            async with self.a, self.b as c:
                try:
                    return await self.d
                finally:
                    await c.e()
    """,
    "an async for that returns at once": """
        async def f():
            async for _ in x:
                return
            return 2
    """,
    "await in boolean operators": """
        async def f():
            return await x or await y and not await z
    """,
    "await in statements": """
        async def f():
            await (await x)
            async with await y as z:
                pass
            for i in await z:
                await i
            while await q:
                pass
            if await r: return
            assert await s, await t
            raise await u from await v
    """,
    "comprehensions over awaited comprehensions": """
        async def f():
            x = [i for i in [j async for j in k]]
            return any([await q for q in x if await q.b])
    """,
}


@pytest.mark.parametrize("source", PROVED.values(), ids=PROVED.keys())
def test_is_proved(source: str) -> None:
    assert_proved(source)


def test_an_asynchronous_comprehension_as_an_operand() -> None:
    assert_same_text("""
        async def f(x, y):
            with y:
                v = x or [u async for u in g]
                w = x if y else (u async for u in g)
                return g(x in y in {u async for u in g})
    """)


def test_an_await_that_ends_behind_a_copy_of_what_follows_it_is_well_formed() -> None:
    assert_proved("async def f(a, b, d):\n    try:\n        b()\n    except E:\n        b if d else (await a)\n")
