import { MeshError } from '@agentmesh/protocol';
import { BaseLlm } from '../base/base-llm.ts';
import { Gemini } from './gemini.ts';

type LlmFactory = (model: string) => BaseLlm;

/** A class of models that lists the names it serves. */
export type BaseLlmType = (new (params: {
  model: string;
}) => BaseLlm) & {
  /** Names, or patterns; a string is read as a pattern. Each must match a model's whole name. */
  readonly supportedModels: readonly (string | RegExp)[];
};

interface Registration {
  pattern: RegExp;
  make: LlmFactory;
  /** The class; absent when a function makes the models. */
  llmClass?: BaseLlmType;
}

const registrations: Registration[] = [];

/**
 * Registers a class for its `supportedModels`, or a function for the names that match a pattern. A newer
 * registration takes precedence.
 *
 * @throws MeshError `invalid_argument` for other values
 */
function register(llmClass: BaseLlmType): void;
function register(pattern: RegExp, make: LlmFactory): void;
function register(first: RegExp | BaseLlmType, make?: LlmFactory): void {
  if (first instanceof RegExp) registrations.unshift({ pattern: first, make: checkedFactory(make) });
  else registrations.unshift(...registrationsOf(first));
}

/**
 * Makes a model by its name.
 *
 * @throws MeshError `not_found` for an unregistered name
 */
function newLlm(model: string): BaseLlm {
  return find(model).make(model);
}

/**
 * Returns the class that is registered for a name.
 *
 * @throws MeshError `not_found` for an unregistered name; `failed_precondition` when a function makes the
 * model
 */
function resolve(model: string): BaseLlmType {
  const { llmClass } = find(model);
  if (llmClass) return llmClass;
  throw new MeshError(
    'failed_precondition',
    `"${model}" is made by a registered function and has no class; use LLMRegistry.newLlm`,
  );
}

/** The registry of models by name. */
export const LLMRegistry = { register, newLlm, resolve };

register(Gemini);

function find(model: string): Registration {
  const registration = registrations.find(({ pattern }) => {
    // A global or sticky pattern starts where its last match ended.
    pattern.lastIndex = 0;
    return pattern.test(model);
  });
  if (registration) return registration;
  throw new MeshError('not_found', `no model class for "${model}"; register one with LLMRegistry.register`);
}

function checkedFactory(make: LlmFactory | undefined): LlmFactory {
  if (typeof make === 'function') return make;
  throw new MeshError(
    'invalid_argument',
    'LLMRegistry.register: a pattern needs a function that makes the model: register(/^my-/, (model) => …)',
  );
}

function registrationsOf(llmClass: BaseLlmType): Registration[] {
  if (typeof llmClass !== 'function' || !(llmClass.prototype instanceof BaseLlm)) {
    throw new MeshError(
      'invalid_argument',
      'LLMRegistry.register takes a subclass of BaseLlm, or a pattern and a function',
    );
  }
  const { name, supportedModels } = llmClass;
  if (!Array.isArray(supportedModels) || supportedModels.length === 0) {
    throw new MeshError(
      'invalid_argument',
      `LLMRegistry.register: ${name} names no model; give it static supportedModels = ['my-model', /my-.+/]`,
    );
  }
  return supportedModels.map((each: unknown) => ({
    pattern: wholeName(name, each),
    make: (model) => new llmClass({ model }),
    llmClass,
  }));
}

function wholeName(llmClass: string, name: unknown): RegExp {
  if (name instanceof RegExp) return new RegExp(`^(?:${name.source})$`, name.flags);
  if (typeof name === 'string') return new RegExp(`^(?:${name})$`);
  throw new MeshError(
    'invalid_argument',
    `LLMRegistry.register: supportedModels of ${llmClass} must hold texts or patterns, not ${typeof name}`,
  );
}
