"""The modules that Inductor generates: a kernel whose nodes are overlooked has no lines, though torch wrote them down."""

from __future__ import annotations

from depyf.line_table.kernel_lines import KernelNodes, read_kernels

TRITON = """\
# AOT ID: ['0_forward']
from torch._inductor.select_algorithm import extern_kernels
aten = torch.ops.aten
async_compile = AsyncCompile()


# kernel path: /tmp/torchinductor/ab/cab.py
# Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.addmm, aten.sin]
# Source node to ATen node mapping:
#   y => add_tensor
#   z => mul, sin
# Graph fragment:
#   %primals_2 : Tensor "f32[8][1]cuda:0" = PlaceHolder[target=primals_2]
#   %sin : Tensor "f32[4, 8][8, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sin.default](args = (%y,))
triton_poi_fused_addmm_sin_0 = async_compile.triton('triton_poi_fused_addmm_sin_0', '''
import triton

@triton.jit
def triton_poi_fused_addmm_sin_0(in_out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = extern_kernels.mm(x)
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

def call(args):
    primals_1, primals_2 = args
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((4, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [y], Original ATen: [aten.addmm]
        extern_kernels.mm(primals_2, reinterpret_tensor(primals_1, (8, 8), (1, 8), 0), out=buf0)
        buf1 = buf0; del buf0  # reuse
        # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.addmm, aten.sin]
        # [Provenance debug handles] triton_poi_fused_addmm_sin_0:2
        stream0 = get_raw_stream(0)
        triton_poi_fused_addmm_sin_0.run(buf1, 32, stream=stream0)
        # Topologically Sorted Source Nodes: [w], Original ATen: [aten.sort]
        buf2 = torch.ops.aten.sort.stable(buf1, stable=True, dim=-1, descending=False)
        buf3 = buf2[0]
    return (buf3, )
"""


def line_of(text):
    return next(number for number, line in enumerate(TRITON.split("\n"), 1) if line.strip().startswith(text))


def test_a_triton_kernel_has_the_nodes_in_the_comments_above_it():
    module = read_kernels(TRITON)
    name = "triton_poi_fused_addmm_sin_0"
    first, last = line_of("# Topologically Sorted Source Nodes: [y, z]"), line_of("''', device_str")
    assert module.defined == {name: (first, last)}
    assert module.named[name] == KernelNodes(("y", "z"), ("addmm", "sin"), ("add_tensor", "mul", "sin"))


def test_each_call_of_a_kernel_is_found_with_its_own_comment():
    mm, fused, sort = read_kernels(TRITON).calls
    assert (mm.line, mm.kernel) == (line_of("extern_kernels.mm(primals_2"), "extern_kernels.mm")
    assert mm.named.sources == ("y",) and not mm.handle
    assert (fused.line, fused.kernel) == (line_of("triton_poi_fused_addmm_sin_0.run"), "triton_poi_fused_addmm_sin_0")
    assert fused.named.sources == ("y", "z") and fused.handle == "triton_poi_fused_addmm_sin_0:2"
    assert (sort.line, sort.kernel) == (line_of("buf2 = torch.ops.aten.sort"), "torch.ops.aten.sort.stable")
    assert sort.named.sources == ("w",)
