# __compiled_fn_5, Joint_graph: not run by this backend; what runs is kernel_0.py, kernel_1.py
class inner_f(torch.nn.Module):
    def forward(
        self,
        primals,
        tangents,
    ):
        primals_1: "f32[4, 16][16, 1]cpu"  # PlainAOTInput(idx=0)
        primals_2: "f32[4, 16][16, 1]cpu"  # PlainAOTInput(idx=1)
        primals_3: "f32[4][1]cpu"  # PlainAOTInput(idx=2)
        tangents_1: "f32[4, 4][4, 1]cpu"  # TangentAOTInput(output=PlainAOTOutput(idx=0))
        primals_1, primals_2, primals_3, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: /home/me/model.py:15 in torch_dynamo_resume_in_forward_at_14, code: return self.second(torch.sin(hidden))
        sin: "f32[4, 16][16, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        permute: "f32[16, 4][1, 16]cpu" = torch.ops.aten.permute.default(primals_2, [1, 0]);  primals_2 = None
        addmm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.addmm.default(primals_3, sin, permute);  primals_3 = None
        permute_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mm.default(tangents_1, permute_1);  permute_1 = None
        permute_2: "f32[4, 4][1, 4]cpu" = torch.ops.aten.permute.default(tangents_1, [1, 0])
        mm_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mm.default(permute_2, sin);  permute_2 = sin = None
        permute_3: "f32[16, 4][1, 16]cpu" = torch.ops.aten.permute.default(mm_1, [1, 0]);  mm_1 = None
        sum_1: "f32[1, 4][4, 1]cpu" = torch.ops.aten.sum.dim_IntList(tangents_1, [0], True);  tangents_1 = None
        view: "f32[4][1]cpu" = torch.ops.aten.view.default(sum_1, [4]);  sum_1 = None
        permute_4: "f32[4, 16][16, 1]cpu" = torch.ops.aten.permute.default(permute_3, [1, 0]);  permute_3 = None
        cos: "f32[4, 16][16, 1]cpu" = torch.ops.aten.cos.default(primals_1);  primals_1 = None
        mul: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(mm, cos);  mm = cos = None
        return pytree.tree_unflatten([
            addmm,  # PlainAOTOutput(idx=0)
            mul,  # GradAOTOutput(grad_of=PlainAOTInput(idx=0))
            permute_4,  # GradAOTOutput(grad_of=PlainAOTInput(idx=1))
            view,  # GradAOTOutput(grad_of=PlainAOTInput(idx=2))
        ], self._out_spec)
