def torch_dynamo_resume_in_forward_at_14(__nested_resume_fns, __nested_frame_values, ___stack0, self, hidden):
    pregraph_timer = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    parameters = self._modules['second']._parameters
    weight = parameters['weight']
    bias = parameters['bias']
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(pregraph_timer)
    graph_out_0 = __compiled_fn_5(hidden, weight, bias)  # model.py:15: return self.second(torch.sin(hidden))
    del weight, bias, parameters
    return graph_out_0[0]

# Compilation 1/0 of Net.forward resumed at line 14 (/home/me/model.py:14).
# The code above runs in place of what Dynamo made: PROVED_UNDER.
#   assuming: the globals that Dynamo installed keep their values while the frame runs
#   assuming: nothing depends on temporaries: on the names of invented variables, or on when values that temporaries
#       hold are released
