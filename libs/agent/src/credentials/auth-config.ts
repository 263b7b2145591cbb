/**
 * A security scheme of OpenAPI 3, or OpenID Connect with explicit endpoints: `authorizationEndpoint`,
 * `tokenEndpoint`, `scopes`, `grantTypesSupported`, and `issuer`, without which ID tokens cannot be checked
 * and are dropped.
 */
export interface AuthScheme {
  type: 'apiKey' | 'http' | 'oauth2' | 'openIdConnect';
  [key: string]: unknown;
}

/** ADK's names for the kinds of credentials. */
export const AuthCredentialTypes = {
  API_KEY: 'apiKey',
  HTTP: 'http',
  OAUTH2: 'oauth2',
  OPEN_ID_CONNECT: 'openIdConnect',
  SERVICE_ACCOUNT: 'serviceAccount',
} as const;
export type AuthCredentialTypes = (typeof AuthCredentialTypes)[keyof typeof AuthCredentialTypes];

export interface HttpCredentials {
  username?: string;
  password?: string;
  token?: string;
}

export interface HttpAuth {
  scheme?: string;
  credentials?: HttpCredentials;
}

/** An OAuth2 credential, as the client sees it and sends it back. The names are ADK's. */
export interface OAuth2Credential {
  clientId?: string;
  clientSecret?: string;
  /** The address at which the user signs in. */
  authUri?: string;
  state?: string;
  redirectUri?: string;
  /** The whole URL to which the user was redirected. */
  authResponseUri?: string;
  authCode?: string;
  accessToken?: string;
  refreshToken?: string;
  idToken?: string;
  /** In epoch seconds. */
  expiresAt?: number;
  /** In seconds. */
  expiresIn?: number;
  /** Audience of the tokens, for servers that require it. */
  audience?: string;
  /**
   * The way in which the client authenticates at the token endpoint; default `client_secret_basic`, or `none`
   * without a secret.
   */
  tokenEndpointAuthMethod?: 'client_secret_basic' | 'client_secret_post' | 'none';
  [key: string]: unknown;
}

export interface AuthCredential {
  authType: AuthCredentialTypes;
  apiKey?: string;
  http?: HttpAuth;
  oauth2?: OAuth2Credential;
  [key: string]: unknown;
}

/**
 * A tool's request for a credential of the user: the scheme, the application's part, and the name under which
 * it is saved.
 */
export interface AuthConfig {
  authScheme: AuthScheme;
  /** The application's own part: client id and secret. It never leaves the process of the tool. */
  rawAuthCredential?: AuthCredential;
  /** The user's part. */
  exchangedAuthCredential?: AuthCredential;
  /**
   * Name of the credential among the user's credentials in the app. Tools with the same key share the
   * credential.
   */
  credentialKey: string;
}
