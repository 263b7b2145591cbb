import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import type { ToolParameters } from '../schema/schema.ts';
import {
  FunctionTool,
  type FunctionToolOptions,
  functionToolOptions,
  type ToolArgs,
} from './function-tool.ts';

// The method form makes parameters bivariant, so a function with a narrower argument type fits too.
type Execute<P> = {
  call(input: ToolArgs<P>, credential: AuthCredential, toolContext: Context): unknown;
}['call'];

export interface AuthenticatedFunctionToolOptions<P extends ToolParameters | undefined>
  extends Omit<FunctionToolOptions<P>, 'execute'> {
  /** The way to get the credential. The model does not see it. */
  authConfig: AuthConfig;
  /** Does the work. Called only when the credential is available. */
  execute: Execute<P>;
  /** The response of the call while a person is asked; default: a status that says so. */
  responseForAuthRequired?: Record<string, unknown> | string;
}

const optionNames: OptionNames<AuthenticatedFunctionToolOptions<undefined>> = {
  ...functionToolOptions,
  authConfig: true,
  responseForAuthRequired: true,
};

/**
 * A function as a tool that receives a credential of the user: a saved credential, or a credential for which
 * a person is asked first. The name comes from ADK.
 */
export class AuthenticatedFunctionTool<
  P extends ToolParameters | undefined = undefined,
> extends FunctionTool<P> {
  /** @throws MeshError `invalid_argument` as for {@link FunctionTool}, and without a credential key */
  constructor(config: AuthenticatedFunctionToolOptions<P>) {
    const isOpen = new.target !== AuthenticatedFunctionTool;
    assertOptions(`tool ${config?.name ?? ''}`.trim(), config ?? null, optionNames, { isOpen });
    const {
      authConfig,
      execute,
      responseForAuthRequired = { status: 'pending', message: 'waits for the user to sign in' },
      ...options
    } = config;
    const { name = execute.name } = options;
    if (!authConfig?.credentialKey)
      throw new MeshError('invalid_argument', `the authConfig of tool ${name} needs a credentialKey`);
    super({
      ...(options as Omit<FunctionToolOptions<P>, 'execute'>),
      name,
      credentialKeys: [authConfig.credentialKey, ...(options.credentialKeys ?? [])],
      execute(input, toolContext) {
        if (!toolContext) throw new MeshError('failed_precondition', `tool ${name} needs a tool context`);
        const credential = toolContext.getAuthResponse(authConfig);
        if (credential) return execute(input, credential, toolContext);
        toolContext.requestCredential(authConfig);
        return responseForAuthRequired;
      },
    });
  }
}
