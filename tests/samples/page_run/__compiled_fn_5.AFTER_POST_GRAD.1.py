# __compiled_fn_5, AFTER_POST_GRAD: not run by this backend; what runs is __compiled_fn_5.kernel_1.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[4, 16][16, 1]cpu",
        primals_2: "f32[4, 16][16, 1]cpu",
        sin: "f32[4, 16][16, 1]cpu",
        tangents_1: "f32[4, 4][4, 1]cpu",
    ):
        # File: /home/me/model.py:15 in torch_dynamo_resume_in_forward_at_14, code: return self.second(torch.sin(hidden))
        permute: "f32[16, 4][1, 16]cpu" = torch.ops.aten.permute.default(primals_2, [1, 0]);  primals_2 = None
        permute_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mm.default(tangents_1, permute_1);  permute_1 = None
        permute_2: "f32[4, 4][1, 4]cpu" = torch.ops.aten.permute.default(tangents_1, [1, 0])
        mm_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mm.default(permute_2, sin);  permute_2 = sin = None
        sum_1: "f32[1, 4][4, 1]cpu" = torch.ops.aten.sum.dim_IntList(tangents_1, [0], True);  tangents_1 = None
        view: "f32[4][1]cpu" = torch.ops.aten.reshape.default(sum_1, [4]);  sum_1 = None
        cos: "f32[4, 16][16, 1]cpu" = torch.ops.aten.cos.default(primals_1);  primals_1 = None
        mul: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(mm, cos);  mm = cos = None
        return (mul, mm_1, view)
