# __compiled_fn_2, Forward_graph: not run by this backend; what runs is __compiled_fn_2.kernel_0.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[16, 8][8, 1]cpu",  # PlainAOTInput(idx=0)
        primals_2: "f32[16][1]cpu",  # PlainAOTInput(idx=1)
        primals_3: "f32[4, 8][8, 1]cpu",  # PlainAOTInput(idx=2)
    ):
        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        permute: "f32[8, 16][1, 8]cpu" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        addmm: "f32[4, 16][16, 1]cpu" = torch.ops.aten.addmm.default(
            primals_2, primals_3, permute
        );  primals_2 = permute = None
        relu: "f32[4, 16][16, 1]cpu" = torch.ops.aten.relu.default(addmm);  addmm = None

        # File: /home/me/model.py:19 in mix, code: return hidden * scale / width
        mul: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(relu, 1.0)
        div: "f32[4, 16][16, 1]cpu" = torch.ops.aten.div.Tensor(mul, 16);  mul = None

        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        le: "b8[4, 16][16, 1]cpu" = torch.ops.aten.le.Scalar(relu, 0);  relu = None
        return (
            div,  # PlainAOTOutput(idx=0)
            primals_3,  # SavedForBackwardsAOTOutput(idx=0)
            le,  # SavedForBackwardsAOTOutput(idx=1)
        )
