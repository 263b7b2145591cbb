import { describe, expect, it } from 'vitest';
import { assertOptions, type OptionNames } from './options.ts';

interface Config {
  name: string;
  timeoutMs?: number;
}
const known: OptionNames<Config> = { name: true, timeoutMs: true };
const unsupported = { mode: 'use another agent', processors: 'use a plugin' };
const refused = (given: unknown, isOpen = false) => {
  try {
    assertOptions('agent x', given as object, known, { unsupported, isOpen });
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('options', () => {
  it.each([
    [{ name: 'a', timeoutMs: 1 }],
    [{}],
    [undefined],
    [{ timeoutMs: undefined, nobody: undefined }],
    [{ mode: false, processors: [] }],
  ])('pass when they are known, absent, or off: %j', (given) => {
    expect(refused(given)).toBeUndefined();
  });

  it.each([
    [{ timeoutms: 1 }, 'agent x: there is no option `timeoutms`; did you mean `timeoutMs`?'],
    [{ other: 1 }, 'agent x: there is no option `other`; there are name, timeoutMs'],
    [{ constructor: 1 }, 'agent x: there is no option `constructor`; there are name, timeoutMs'],
    [{ mode: 'task' }, 'agent x: the option `mode` of ADK does nothing here; use another agent'],
    [{ processors: [1] }, 'agent x: the option `processors` of ADK does nothing here; use a plugin'],
    [null, 'agent x: the options must be an object'],
    ['name', 'agent x: the options must be an object'],
    [[], 'agent x: the options must be an object'],
  ])('are refused by name: %j', (given, message) => {
    expect(refused(given)).toMatchObject({ code: 'invalid_argument', message });
  });

  it('of an open class may have any name, except those that do nothing', () => {
    expect(refused({ other: 1 }, true)).toBeUndefined();
    expect(refused({ mode: 'task' }, true)).toMatchObject({ code: 'invalid_argument' });
  });
});
