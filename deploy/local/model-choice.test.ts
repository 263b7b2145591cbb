import { describe, expect, it } from 'vitest';
import { chooseModel } from './model-choice.ts';

const start = { isDemo: false };
const shared = { NATS_URL: 'nats://somewhere:4222' };

describe('the choice of models', () => {
  it('takes scripts when there is no key, and reports it', () => {
    for (const isDemo of [true, false]) {
      const { model, notice } = chooseModel({}, { isDemo });
      expect(model).toBe('scripted');
      expect(notice).toMatch(/^No key .* answers come from scripts.*MESH_MODEL=scripted.*GEMINI_API_KEY/);
    }
  });

  it.each(['GEMINI_API_KEY', 'GOOGLE_API_KEY'])('leaves the agents their models with %s', (name) => {
    expect(chooseModel({ [name]: 'key' }, start)).toEqual({ model: undefined });
  });

  it('takes scripts despite a key when MESH_MODEL says so', () => {
    expect(chooseModel({ GEMINI_API_KEY: 'key', MESH_MODEL: 'scripted' }, start)).toEqual({
      model: 'scripted',
    });
  });

  it('takes scripts by itself on foreign servers only in the demo', () => {
    expect(() => chooseModel(shared, start)).toThrow(/GEMINI_API_KEY.*MESH_MODEL=scripted/);
    expect(chooseModel({ ...shared, MESH_MODEL: 'scripted' }, start).model).toBe('scripted');
    expect(chooseModel(shared, { isDemo: true }).model).toBe('scripted');
  });

  it('refuses any other value by its name', () => {
    expect(() => chooseModel({ MESH_MODEL: 'gpt' }, start)).toThrow(
      'MESH_MODEL must be one of scripted; it is "gpt"',
    );
  });
});
