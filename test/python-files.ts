import { readFileSync } from 'node:fs';

/** The files of the command with the Python examples, by the example from which each is made. */
export const pythonFiles: Record<string, string> = {
  'mesh_client.py': 'libs/cli/src/project/python/mesh-client.ts',
  'serve_tool.py': 'libs/cli/src/project/python/serve-tool.ts',
  'signature.py': 'libs/cli/src/project/python/signature.ts',
};

/** Returns the module with the text of an example, for `agentmesh add tool --python`. */
export function moduleOf(example: string): string {
  const text = readFileSync(new URL(`../docs/examples/any-language/${example}`, import.meta.url), 'utf8');
  if (/`|\$\{/.test(text))
    throw new Error(`${example} holds a backtick or \${, which a template cannot hold`);
  const name = example.replace(/\.py$/, '').replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const tag = text.includes('\\') ? 'String.raw' : '';
  return `/** The text of docs/examples/any-language/${example}. Written by test/write-docs.ts. */\nexport const ${name}Text = ${tag}\`${text}\`;\n`;
}
