# __compiled_fn_8, Joint_graph: not run by this backend; what runs is kernel_0.py, kernel_1.py
class inner_f(torch.nn.Module):
    def forward(
        self,
        primals,
        tangents,
    ):
        primals_1: "f32[16, 8][8, 1]cpu"  # PlainAOTInput(idx=0)
        primals_2: "f32[16][1]cpu"  # PlainAOTInput(idx=1)
        primals_3: "f32[4, 8][8, 1]cpu"  # PlainAOTInput(idx=2)
        primals_4: "f64[][]cpu"  # PlainAOTInput(idx=3)
        tangents_1: "f32[4, 16][16, 1]cpu"  # TangentAOTInput(output=PlainAOTOutput(idx=0))
        primals_1, primals_2, primals_3, primals_4, tangents_1, = fx_pytree.tree_flatten_spec(
            [primals, tangents], self._in_spec
        )
        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        permute: "f32[8, 16][1, 8]cpu" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        addmm: "f32[4, 16][16, 1]cpu" = torch.ops.aten.addmm.default(
            primals_2, primals_3, permute
        );  primals_2 = permute = None
        relu: "f32[4, 16][16, 1]cpu" = torch.ops.aten.relu.default(addmm);  addmm = None
        alias: "f32[4, 16][16, 1]cpu" = torch.ops.aten.alias.default(relu)

        # File: /home/me/model.py:19 in mix, code: return hidden * scale / width
        _local_scalar_dense: "Sym(zf69)" = torch.ops.aten._local_scalar_dense.default(primals_4);  primals_4 = None
        mul: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(relu, _local_scalar_dense);  relu = None
        div: "f32[4, 16][16, 1]cpu" = torch.ops.aten.div.Tensor(mul, 16);  mul = None
        div_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.div.Tensor(tangents_1, 16);  tangents_1 = None
        mul_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.mul.Tensor(
            div_1, _local_scalar_dense
        );  div_1 = _local_scalar_dense = None

        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        alias_1: "f32[4, 16][16, 1]cpu" = torch.ops.aten.alias.default(alias);  alias = None
        le: "b8[4, 16][16, 1]cpu" = torch.ops.aten.le.Scalar(alias_1, 0);  alias_1 = None
        scalar_tensor: "f32[][]cpu" = torch.ops.aten.scalar_tensor.default(
            0, dtype = torch.float32, layout = torch.strided, device = device(type='cpu')
        )
        where: "f32[4, 16][16, 1]cpu" = torch.ops.aten.where.self(
            le, scalar_tensor, mul_1
        );  le = scalar_tensor = mul_1 = None
        permute_1: "f32[16, 4][1, 16]cpu" = torch.ops.aten.permute.default(where, [1, 0])
        mm: "f32[16, 8][8, 1]cpu" = torch.ops.aten.mm.default(permute_1, primals_3);  permute_1 = primals_3 = None
        permute_2: "f32[8, 16][1, 8]cpu" = torch.ops.aten.permute.default(mm, [1, 0]);  mm = None
        sum_1: "f32[1, 16][16, 1]cpu" = torch.ops.aten.sum.dim_IntList(where, [0], True);  where = None
        view: "f32[16][1]cpu" = torch.ops.aten.view.default(sum_1, [16]);  sum_1 = None
        permute_3: "f32[16, 8][8, 1]cpu" = torch.ops.aten.permute.default(permute_2, [1, 0]);  permute_2 = None
        return pytree.tree_unflatten([
            div,  # PlainAOTOutput(idx=0)
            permute_3,  # GradAOTOutput(grad_of=PlainAOTInput(idx=0))
            view,  # GradAOTOutput(grad_of=PlainAOTInput(idx=1))
            None,  # None
            None,  # None
        ], self._out_spec)
