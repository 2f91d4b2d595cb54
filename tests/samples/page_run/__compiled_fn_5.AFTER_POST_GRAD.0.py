# __compiled_fn_5, AFTER_POST_GRAD: not run by this backend; what runs is __compiled_fn_5.kernel_0.py
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[4, 16][16, 1]cpu", primals_2: "f32[4, 16][16, 1]cpu", primals_3: "f32[4][1]cpu"):
        # File: /home/me/model.py:15 in torch_dynamo_resume_in_forward_at_14, code: return self.second(torch.sin(hidden))
        sin: "f32[4, 16][16, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        permute: "f32[16, 4][1, 16]cpu" = torch.ops.aten.permute.default(primals_2, [1, 0])
        addmm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.addmm.default(primals_3, sin, permute);  primals_3 = permute = None
        return (addmm, primals_1, primals_2, sin)
