# __compiled_fn_2, BEFORE_PRE_GRAD: not run by this backend; what runs is kernel_0.py, kernel_1.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_self_modules_first_parameters_weight_: "f32[16, 8][8, 1]cpu",
        L_self_modules_first_parameters_bias_: "f32[16][1]cpu",
        L_x_: "f32[4, 8][8, 1]cpu",
    ):
        l_self_modules_first_parameters_weight_ = L_self_modules_first_parameters_weight_
        l_self_modules_first_parameters_bias_ = L_self_modules_first_parameters_bias_
        l_x_ = L_x_

        # File: /home/me/model.py:12 in forward, code: hidden = torch.relu(self.first(x))
        linear: "f32[4, 16][16, 1]cpu" = torch._C._nn.linear(
            l_x_, l_self_modules_first_parameters_weight_, l_self_modules_first_parameters_bias_
        );  l_x_ = l_self_modules_first_parameters_weight_ = l_self_modules_first_parameters_bias_ = None
        hidden: "f32[4, 16][16, 1]cpu" = torch.relu(linear);  linear = None

        # File: /home/me/model.py:19 in mix, code: return hidden * scale / width
        mul: "f32[4, 16][16, 1]cpu" = hidden * 1.0;  hidden = None
        hidden_1: "f32[4, 16][16, 1]cpu" = mul / 16;  mul = None
        return (hidden_1,)
