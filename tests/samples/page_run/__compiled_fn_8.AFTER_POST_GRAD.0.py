# __compiled_fn_8, AFTER_POST_GRAD: not run by this backend; what runs is __compiled_fn_8.kernel_0.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[16, 8][8, 1]cpu",
        primals_2: "f32[16][1]cpu",
        primals_3: "f32[4, 8][8, 1]cpu",
        primals_4: "f64[][]cpu",
    ):
        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        permute: "f32[8, 16][1, 8]cpu" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        addmm: "f32[4, 16][16, 1]cpu" = torch.ops.aten.addmm.default(
            primals_2, primals_3, permute
        );  primals_2 = permute = None
        relu: "f32[4, 16][16, 1]cpu" = torch.ops.aten.relu.default(addmm);  addmm = None

        # No stacktrace found for following nodes
        convert_element_type_default_1: "f32[][]cpu" = torch.ops.prims.convert_element_type.default(
            primals_4, torch.float32
        );  primals_4 = None
        mul_tensor: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(relu, convert_element_type_default_1)

        # File: /home/me/model.py:19 in mix, code: return hidden * scale / width
        div: "f32[4, 16][16, 1]cpu" = torch.ops.aten.div.Tensor(mul_tensor, 16);  mul_tensor = None

        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        le: "b8[4, 16][16, 1]cpu" = torch.ops.aten.le.Scalar(relu, 0);  relu = None
        return (div, primals_3, convert_element_type_default_1, le)
