import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from '@asyncapi/parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { moduleOf, pythonFiles } from '../python-files.ts';
import { breakingChanges } from './breaking-changes.ts';
import { bodyNames, type Contract, contractOfCode, type JsonSchema, schemaOf } from './contract.ts';
import { type BodyName, bodies } from './messages.ts';
import { asyncApiFile, committedContract, readWireFile, wireFiles } from './wire-files.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
const ajv = new Ajv2020({ strict: false, allErrors: true });
const compiled = new Map(bodyNames.map((name) => [name, ajv.compile(schemaOf(name))]));

describe('the files of the wire', () => {
  it.each([...wireFiles()])(
    '%s holds what the code says; write it with node test/write-docs.ts',
    (file, value) => {
      // Through JSON, because a file has no fields that are undefined.
      expect(readWireFile(file)).toEqual(JSON.parse(JSON.stringify(value)));
    },
  );

  it('are an AsyncAPI 3 document in which the official parser finds no error', async () => {
    const text = read(asyncApiFile);
    const problemsOf = async (document: string) => {
      const { diagnostics } = await new Parser().parse(document);
      return diagnostics.filter(({ severity }) => severity === 0).map(({ message }) => message);
    };
    expect(await problemsOf(text)).toEqual([]);
    expect(await problemsOf(text.replace('action: send', 'action: sends'))).not.toEqual([]);
  });

  it('are JSON Schemas (draft 2020-12), in which unknown fields of what programs write are refused', () => {
    for (const name of bodyNames) expect(schemaOf(name).$schema, name).toMatch(/2020-12/);
    expect(compiled.get('run')?.({ message: 'hi', sessionn: 's' })).toBe(false);
    expect(compiled.get('tool-reply')?.({ response: 1, actions: { statDelta: {} } })).toBe(false);
    expect(compiled.get('answer')?.({ ...answer, later: 1 })).toBe(true);
  });
});

const answer = { text: 'hi', invocationId: 'e', app: 'a', user: 'u', session: 's' };

describe('the contract of v1', () => {
  it('is kept: no change breaks a program', () => {
    expect(breakingChanges(committedContract(), contractOfCode())).toEqual([]);
  });

  it('may grow', () => {
    const grown = changed((contract) => {
      contract.subjects.push('tool.<tool>.later');
      contract.bodies.more = { programs: 'write', schema: {} };
      fieldsOf(contract, 'run').later = { type: 'string' };
      fieldsOf(contract, 'answer').later = { type: 'string' };
      enumOf(contract, 'run', 'whenBusy').push('later');
      requiredOf(contract, 'update').splice(0);
      fieldsOf(contract, 'tool-card').description = { type: ['string', 'null'] };
    });
    expect(breakingChanges(contractOfCode(), grown)).toEqual([]);
  });

  const planted: [what: string, change: (contract: Contract) => void, found: string][] = [
    [
      'a subject is renamed',
      ({ subjects }) => subjects.splice(0, 1, 'agent.<agent>.go'),
      'subjects: agent.<agent>.run.<session> is gone',
    ],
    [
      'a header is renamed',
      ({ headers }) => headers.splice(headers.indexOf('Mesh-Frame'), 1),
      'headers: Mesh-Frame is gone',
    ],
    [
      'a kind of frame is removed',
      ({ frames }) => frames.splice(frames.indexOf('heartbeat'), 1),
      'frames: heartbeat is gone',
    ],
    [
      'an error code is removed',
      ({ errorCodes }) => errorCodes.splice(0, 1),
      'errorCodes: invalid_argument is gone',
    ],
    ['a body is removed', ({ bodies }) => delete bodies.cancel, 'body cancel is gone'],
    ['a field is removed', (contract) => delete fieldsOf(contract, 'ask').state, 'ask.state is gone'],
    [
      'a field is renamed',
      (contract) => {
        const fields = fieldsOf(contract, 'run');
        fields.sessionId = fields.session ?? {};
        delete fields.session;
      },
      'run.session is gone',
    ],
    [
      'a field below is removed',
      (contract) => delete below(contract, 'run', 'runConfig').maxLlmCalls,
      'run.runConfig.maxLlmCalls is gone',
    ],
    [
      'a value is removed',
      (contract) => enumOf(contract, 'run', 'whenBusy').pop(),
      'run.whenBusy no longer allows interrupt',
    ],
    [
      'a field is required',
      (contract) => requiredOf(contract, 'update').push('wake'),
      'update.wake is required now',
    ],
    [
      'a type is narrower',
      (contract) => Object.assign(fieldsOf(contract, 'update').response ?? {}, { type: 'object' }),
      'update.response was anything and is object',
    ],
    [
      'a type is another',
      (contract) => Object.assign(fieldsOf(contract, 'update').final ?? {}, { type: 'string' }),
      'update.final was boolean and is string',
    ],
    [
      'a limit is narrower',
      (contract) => Object.assign(fieldsOf(contract, 'update').error ?? {}, { maxLength: 10 }),
      'update.error has a narrower maxLength: 10',
    ],
    [
      'a text needs a pattern',
      (contract) => Object.assign(fieldsOf(contract, 'cancel').app ?? {}, { pattern: '^a' }),
      'cancel.app has a narrower pattern: ^a',
    ],
    [
      'a message may no longer be a text',
      (contract) => formsOf(fieldsOf(contract, 'ask').message).shift(),
      'ask.message lost one of its forms',
    ],
    [
      'an item is narrower',
      (contract) =>
        Object.assign(asSchema(fieldsOf(contract, 'agent-card').subAgents?.items), { maxLength: 1 }),
      'agent-card.subAgents.[] has a narrower maxLength: 1',
    ],
    [
      'open values are closed',
      (contract) =>
        Object.assign(fieldsOf(contract, 'run').stateDelta ?? {}, {
          additionalProperties: { type: 'string' },
        }),
      'run.stateDelta.* was anything and is string',
    ],
    [
      'a field of an answer may be absent',
      (contract) => requiredOf(contract, 'answer').shift(),
      'answer.text may be absent now',
    ],
    [
      'a field of an answer has more types',
      (contract) => Object.assign(fieldsOf(contract, 'answer').text ?? {}, { type: ['string', 'null'] }),
      'answer.text was string and is string or null',
    ],
  ];
  it.each(planted)('breaks when %s, and the test says what', (_what, change, found) => {
    expect(breakingChanges(contractOfCode(), changed(change))).toEqual([found]);
  });
});

const asSchema = (value: unknown): JsonSchema => value as JsonSchema;

function formsOf(schema: JsonSchema = {}): unknown[] {
  return schema.anyOf as unknown[];
}

function changed(change: (contract: Contract) => void): Contract {
  const copy: Contract = structuredClone(contractOfCode());
  change(copy);
  return copy;
}

function fieldsOf({ bodies: all }: Contract, body: BodyName): Record<string, JsonSchema> {
  return all[body]?.schema.properties as Record<string, JsonSchema>;
}

function below(contract: Contract, body: BodyName, field: string): JsonSchema {
  return asSchema(fieldsOf(contract, body)[field]?.properties);
}

function enumOf(contract: Contract, body: BodyName, field: string): string[] {
  return fieldsOf(contract, body)[field]?.enum as string[];
}

function requiredOf({ bodies: all }: Contract, body: BodyName): string[] {
  return all[body]?.schema.required as string[];
}

describe('the files of agentmesh add tool --python', () => {
  it.each(Object.entries(pythonFiles))('hold docs/examples/any-language/%s', (example, file) => {
    expect(read(file)).toBe(moduleOf(example));
  });
});

describe('the examples of docs/any-language.md', () => {
  const blocks = [
    ...read('docs/any-language.md').matchAll(/<!-- schema: ([\w-]+) -->\n\n```json\n([\s\S]*?)```/g),
  ];

  it('are all the JSON of the page', () => {
    expect(blocks.length).toBeGreaterThan(8);
    expect(read('docs/any-language.md').match(/```json/g)).toHaveLength(blocks.length);
  });

  it.each(blocks.map(([, name = '', text = '']) => [name, text]))(
    '%s: the schema and the code take it',
    (name, text) => {
      const body = name as BodyName;
      const value: unknown = JSON.parse(text);
      const validate = compiled.get(body);
      expect(validate?.(value), JSON.stringify(validate?.errors)).toBe(true);
      bodies[body].schema.parse(value);
      const isStrict = bodies[body].programs === 'write';
      expect(validate?.({ ...Object(value), laterr: 1 })).toBe(!isStrict);
    },
  );
});
