import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as agent from './index.ts';

const text = readFileSync(join(import.meta.dirname, 'index.ts'), 'utf8');
const groups = [...text.matchAll(/\/\*\*\n([\s\S]*?)\*\//g)].map(([, comment = '']) => comment);
const examples = groups.flatMap((comment) => {
  const [title = '', example] = comment.replace(/^ \* ?/gm, '').split('@example\n');
  return example === undefined ? [] : [{ title: title.trim().split(/[:,.\n]/)[0] ?? '', example }];
});

const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (...args: unknown[]) => Promise<unknown>;

describe('the groups of exported names', () => {
  it('have an example each', () => {
    expect(examples.length).toBeGreaterThan(8);
    expect(examples.length).toBe(groups.length);
  });

  it.each(examples)('the example of "$title" runs', async ({ example }) => {
    const names = new Set<string>();
    const body = example
      .replace(/import \{([^}]*)\} from .@agentmesh\/agent.;\n/g, (_, list: string) => {
        for (const name of list.split(',')) if (!name.includes('type ')) names.add(name.trim());
        return '';
      })
      .replace(/import .* from .zod.;\n/, '');
    const exported = [...body.matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
    expect(exported.length).toBeGreaterThan(0);
    const code = `${stripTypeScriptTypes(body)}\nreturn { ${exported.join(', ')} };`.replace(
      /^export /gm,
      '',
    );
    const given = { ...agent, z } as Record<string, unknown>;
    const parameters = [...names, 'z'];
    for (const name of parameters) expect(given[name], `${name} is exported`).toBeDefined();
    const made = await new AsyncFunction(...parameters, code)(...parameters.map((name) => given[name]));
    for (const value of Object.values(made as object)) expect(value).toBeDefined();
  });
});
