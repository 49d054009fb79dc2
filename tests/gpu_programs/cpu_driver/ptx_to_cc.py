# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Translates kernels in PTX to C++, one function per kernel that does what one thread does: ptx_to_cc.py FILE...

Takes the instructions that Ferret's own kernels use, and fails on any other one. Register types are checked as the PTX
assembler checks them. Kernels with barriers or shared memory cannot be translated: threads run one after the other.
"""
import re
import sys

TYPES = {"u32": "uint32_t", "b32": "uint32_t", "u64": "uint64_t", "b64": "uint64_t", "f32": "float", "pred": "bool"}
SPECIAL = {"%ctaid.x": "place.block", "%ntid.x": "place.width", "%tid.x": "place.thread", "%smid": "0",
           "%globaltimer": "ClockNs()", "%clock64": "ClockNs()"}
COMPARISONS = {"ge": ">=", "lt": "<", "eq": "==", "ne": "!="}
BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "or": "|"}
# Instruction: C++ expression of its operands, and the types of the result and the operands where they differ.
EXPRESSIONS = {
    "mad.lo.u32": "{1} * {2} + {3}",
    "mul.lo.u32": "{1} * {2}",
    "fma.rn.f32": "std::fma({1}, {2}, {3})",
    "neg.f32": "-{1}",
    "max.f32": "std::fmax({1}, {2})",
    "ex2.approx.f32": "std::exp2({1})",
    "lg2.approx.f32": "std::log2({1})",
    "rcp.rn.f32": "1.0f / {1}",
}
CONVERSIONS = {
    "mul.wide.u32": ("u64", "u32", "uint64_t{{{1}}} * {2}"),
    "cvt.rn.f32.u32": ("f32", "u32", "static_cast<float>({1})"),
    "cvt.u64.u32": ("u64", "u32", "uint64_t{{{1}}}"),
}


class Kernel:
    def __init__(self, parameters, body):
        self.parameters = {name: kind for kind, name in re.findall(r"\.param \.(\w+) (\w+)", parameters)}
        self.registers = {}
        for kind, names in re.findall(r"\.reg \.(\w+) ([^;]*);", body):
            self.registers.update({name.strip(): kind for name in names.split(",")})
        self.body = re.sub(r"\.reg [^;]*;", "", body)

    def register(self, name, kind):
        found = self.registers[name]
        # Untyped bits go with any type of their size.
        if found != kind and ("b" not in (found[0], kind[0]) or found[1:] != kind[1:]):
            raise ValueError(f"{name} is .{found}, not .{kind}")
        return f"r_{name}"

    def operand(self, text, kind):
        if text in SPECIAL:
            return SPECIAL[text]
        if re.fullmatch(r"0f[0-9A-F]{8}", text) and kind == "f32":
            return f"FloatOf(0x{text[2:]}u)"
        if re.fullmatch(r"\d+", text) and kind != "f32":
            return f"{TYPES[kind]}{{{text}}}"
        return self.register(text, kind)

    def memory(self, text):
        name, offset = re.fullmatch(r"\[(\w+)((?:\+\d+)?)\]", text).groups()
        return self.register(name, "u64") + offset

    def statement(self, instruction, operands):
        kind = instruction.rpartition(".")[2]
        family = instruction.split(".")[0]

        def assign(expression, result=kind, source=kind):
            values = [self.operand(o, source) for o in operands[1:]]
            return f"{self.register(operands[0], result)} = {expression.format(None, *values)}"

        if instruction == "ret":
            return "return"
        if instruction == "bra":
            return f"goto {operands[0]}"
        if instruction.startswith("ld.param."):
            name = operands[1].strip("[]")
            if self.parameters[name] != kind:
                raise ValueError(f"{name} is .{self.parameters[name]}")
            return f"{self.register(operands[0], kind)} = p_{name}"
        if instruction.startswith("ld.global."):
            return f"{self.register(operands[0], kind)} = Load<{TYPES[kind]}>({self.memory(operands[1])})"
        if instruction.startswith("st.global."):
            return f"Store<{TYPES[kind]}>({self.memory(operands[0])}, {self.register(operands[1], kind)})"
        if family == "setp":
            return assign(f"{{1}} {COMPARISONS[instruction.split('.')[1]]} {{2}}", result="pred")
        if instruction in CONVERSIONS:
            result, source, expression = CONVERSIONS[instruction]
            return assign(expression, result, source)
        if instruction in EXPRESSIONS:
            return assign(EXPRESSIONS[instruction])
        if instruction == f"mov.{kind}" or instruction == "cvta.to.global.u64":
            return assign("{1}")
        if instruction == f"{family}.{kind}":
            return assign(f"{{1}} {BINARY[family]} {{2}}")
        raise ValueError("unknown instruction")

    def lines(self):
        for number, (name, kind) in enumerate(self.parameters.items()):
            yield f"  const auto p_{name} = *static_cast<const {TYPES[kind]}*>(arguments[{number}]);"
        for name, kind in self.registers.items():
            yield f"  {TYPES[kind]} r_{name} = {{}};"
        for line in filter(None, (line.strip() for line in re.split(r"[;\n]", self.body))):
            if line.endswith(":"):
                yield f"{line};"
                continue
            guard, text = re.fullmatch(r"(?:@(\w+)\s+)?(.*)", line).groups()
            instruction, _, rest = text.partition(" ")
            try:
                statement = self.statement(instruction, [o.strip() for o in rest.split(",")])
            except (ValueError, KeyError, AttributeError) as error:
                raise SystemExit(f"ptx_to_cc.py: {line}: {error}")
            condition = f"if ({self.register(guard, 'pred')}) " if guard else ""
            yield f"  {condition}{statement};"


def main():
    names = []
    for path in sys.argv[1:]:
        text = re.sub(r"//.*", "", open(path, encoding="utf-8").read())
        for name, parameters, body in re.findall(r"\.visible \.entry (\w+)\(([^)]*)\)\s*\{(.*?)\n\}", text, re.S):
            names.append(name)
            print(f"void Run_{name}([[maybe_unused]] const Place& place, void** arguments) {{")
            print("\n".join(Kernel(parameters, body).lines()))
            print("}")
    print("constexpr Kernel kKernels[] = {")
    for name in names:
        print(f'  {{"{name}", Run_{name}}},')
    print("};")


if __name__ == "__main__":
    main()
