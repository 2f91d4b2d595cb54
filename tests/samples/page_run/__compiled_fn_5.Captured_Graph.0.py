# __compiled_fn_5, Captured_Graph: not run by this backend; what runs is kernel_0.py, kernel_1.py
class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_hidden_: "f32[4, 16][16, 1]cpu",
        L_self_modules_second_parameters_weight_: "f32[4, 16][16, 1]cpu",
        L_self_modules_second_parameters_bias_: "f32[4][1]cpu",
    ):
        l_hidden_ = L_hidden_
        l_self_modules_second_parameters_weight_ = L_self_modules_second_parameters_weight_
        l_self_modules_second_parameters_bias_ = L_self_modules_second_parameters_bias_

        # File: /home/me/model.py:15 in torch_dynamo_resume_in_forward_at_14, code: return self.second(torch.sin(hidden))
        sin: "f32[4, 16][16, 1]cpu" = torch.sin(l_hidden_);  l_hidden_ = None
        linear: "f32[4, 4][4, 1]cpu" = torch._C._nn.linear(
            sin, l_self_modules_second_parameters_weight_, l_self_modules_second_parameters_bias_
        );  sin = l_self_modules_second_parameters_weight_ = l_self_modules_second_parameters_bias_ = None
        return (linear,)
