# __compiled_fn_8, BEFORE_PRE_GRAD: not run by this backend; what runs is kernel_0.py, kernel_1.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_self_modules_first_parameters_weight_: "f32[16, 8][8, 1]cpu",
        L_self_modules_first_parameters_bias_: "f32[16][1]cpu",
        L_x_: "f32[4, 8][8, 1]cpu",
        L_scale_: "f64[][]cpu",
    ):
        l_self_modules_first_parameters_weight_ = L_self_modules_first_parameters_weight_
        l_self_modules_first_parameters_bias_ = L_self_modules_first_parameters_bias_
        l_x_ = L_x_
        l_scale_ = L_scale_

        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        linear: "f32[4, 16][16, 1]cpu" = torch._C._nn.linear(
            l_x_, l_self_modules_first_parameters_weight_, l_self_modules_first_parameters_bias_
        );  l_x_ = l_self_modules_first_parameters_weight_ = l_self_modules_first_parameters_bias_ = None
        hidden: "f32[4, 16][16, 1]cpu" = torch.relu(linear);  linear = None

        # File: /home/me/model.py:19 in mix, code: return hidden * scale / width
        item: "Sym(zf69)" = l_scale_.item();  l_scale_ = None
        mul: "f32[4, 16][16, 1]cpu" = hidden * item;  hidden = item = None
        hidden_1: "f32[4, 16][16, 1]cpu" = mul / 16;  mul = None
        return (hidden_1,)
