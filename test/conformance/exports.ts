import { fileURLToPath } from 'node:url';
import ts from 'typescript-5.9';

/** The exports of a module: names of values and of types, and the members of its classes. */
export interface Exports {
  values: string[];
  types: string[];
  /** The public and static members of classes, inherited ones included: `Class.member`. */
  members: string[];
  /** The members that the class itself declares. */
  declared: string[];
}

const fileOf = (module: string) => fileURLToPath(import.meta.resolve(module));

/** Reads the declarations of ADK and of our package with the compiler. */
export function readExports(): { adk: Exports; ours: Exports } {
  const entries = {
    adk: fileOf('@google/adk').replace('/dist/esm/index.js', '/dist/types/index.d.ts'),
    ours: fileOf('@agentmesh/agent'),
  };
  const program = ts.createProgram(Object.values(entries), {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  });
  const checker = program.getTypeChecker();
  return { adk: exportsOf(program, checker, entries.adk), ours: exportsOf(program, checker, entries.ours) };
}

function exportsOf(program: ts.Program, checker: ts.TypeChecker, file: string): Exports {
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} is not a module`);
  const found: Exports = { values: [], types: [], members: [], declared: [] };
  for (const exported of checker.getExportsOfModule(module)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const isValue = Boolean(symbol.flags & ts.SymbolFlags.Value);
    (isValue ? found.values : found.types).push(exported.name);
    if (symbol.flags & ts.SymbolFlags.Class) {
      for (const member of membersOf(checker, symbol)) found.members.push(`${exported.name}.${member}`);
      for (const member of declaredIn(symbol)) found.declared.push(`${symbol.name}.${member}`);
    }
  }
  return found;
}

function membersOf(checker: ts.TypeChecker, type: ts.Symbol): string[] {
  const instance = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(type));
  const statics = checker.getPropertiesOfType(checker.getTypeOfSymbol(type));
  return [...instance, ...statics].filter(isPublic).map(({ name }) => name);
}

function declaredIn({ members, exports }: ts.Symbol): string[] {
  return [...(members?.values() ?? []), ...(exports?.values() ?? [])]
    .filter(isPublic)
    .map(({ name }) => name);
}

function isPublic({ name, flags, declarations = [] }: ts.Symbol): boolean {
  if (flags & ts.SymbolFlags.TypeParameter) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  const modifiers = declarations.map((each) => ts.getCombinedModifierFlags(each));
  // The compiler invents names for unique symbols and `#private` fields, which begin with `__`.
  return !name.startsWith('__') && name !== 'prototype' && !modifiers.some((each) => each & hidden);
}
