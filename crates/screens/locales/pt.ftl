# Todas as mensagens das telas. As mesmas de `en.ftl`.

## Em toda parte

skip = Pular para o conteúdo
languages = Idioma
error-prefix = Erro:
error-heading = Há um problema
continue = Continuar
cancel = Cancelar
back = Voltar
or = ou
show = Mostrar
save = Salvar
copy = Copiar
copied = Copiado
print = Imprimir
an-app = o aplicativo
moment = { $day } de { $month ->
    [1] jan.
    [2] fev.
    [3] mar.
    [4] abr.
    [5] mai.
    [6] jun.
    [7] jul.
    [8] ago.
    [9] set.
    [10] out.
    [11] nov.
   *[12] dez.
} de { $year }, { $time } UTC

## Entrar

sign-in-title = Entrar
sign-in-for = para continuar em { $app }
sign-in-new = Primeira vez aqui? Digite seu e-mail e cuidamos do resto.
sign-in-instead = Já tenho conta
create-account = Criar uma conta
cannot-sign-in = Não consigo entrar
address = E-mail
password = Senha
send-code = Receber um código por e-mail
send-code-instead = Prefiro um código por e-mail
send-text = Receber um código por SMS
use-password = Usar uma senha
use-text = Usar SMS
use-passkey = Usar uma chave de acesso
passkey-needs-script = Chaves de acesso precisam de JavaScript. O resto funciona sem ele.
password-title = Digite sua senha
forgot-password = Esqueceu a senha?
text-sign-in-title = Entrar por SMS
text-sign-in-text = Se você adicionou um telefone para entrar, vamos enviar um código para ele. Mensagens SMS podem ser interceptadas; uma chave de acesso é mais segura.

register-title = Crie sua conta
register-text = Vamos enviar um código para confirmar que o e-mail é seu.
recover-title = Recupere seu acesso
recover-text = Digite seu e-mail. Vamos enviar um código para começar.

## Códigos

mail-code-title = Confira seu e-mail
mail-code-sent-to = Enviamos um código de seis dígitos para { $to }. Ele vale por 10 minutos.
mail-code-sent = Enviamos um código de seis dígitos para você. Ele vale por 10 minutos.
text-code-title = Confira seu celular
text-code-sent-to = Enviamos um código para { $to }. Ele vale por 10 minutos.
text-code-sent = Enviamos um código para você. Ele vale por 10 minutos.
text-code-maybe = Se este e-mail tem um telefone para entrar, enviamos um código para ele. O código vale por 10 minutos.
code-label = Código
phrase = A mensagem deve mostrar estas palavras:
send-again = Enviar um novo código
other-address = Usar outro e-mail
totp-title = Digite o código do aplicativo
totp-label = Código do aplicativo autenticador
recovery-code-title = Use um código de recuperação
recovery-code-label = Código de recuperação
recovery-code-hint = Um dos códigos que você guardou. Cada um vale uma vez.
link-title = Quase lá
link-text = Continue de onde você começou.
link-continue = Continuar
link-elsewhere = Este link só funciona no navegador em que você começou. Volte para lá e digite o código da mensagem. Se não foi você, ignore a mensagem.
link-no-script = Digite o código da mensagem na janela em que você começou.

## Mais um passo

raise-title = Só mais um passo
raise-text = Confirme que é você.
raise-fresh = Você vai mudar algo importante. Confirme que é você.
raise-app = { $app } pede uma verificação mais forte.
raise-second = Sua conta tem uma segunda etapa. Use-a para entrar.
raise-recover = Sua conta tem uma segunda etapa. Use-a para recuperar o acesso.
others = Outras formas
way-mail-code = Digitar o código do e-mail
way-text-code = Digitar o código do SMS
way-passkey = Usar uma chave de acesso
way-totp = Usar o aplicativo autenticador
way-password = Usar a senha
way-send-text = Receber um código por SMS
way-send-mail = Receber um código por e-mail
way-recovery-code = Usar um código de recuperação
way-hold = Não tenho nenhuma delas
hold-title = Espere três dias
hold-text = Sem a segunda etapa, não temos como saber que é você. Vamos avisar todos os e-mails da conta e esperar 72 horas. Depois, volte aqui e crie uma nova forma de entrar.
hold-start = Iniciar a espera

## Configurar

profile-title = Como podemos chamar você?
profile-text = Este nome aparece aqui, e os aplicativos podem pedir para vê-lo.
name = Seu nome
offer-title = Entre mais rápido da próxima vez
offer-recover-title = Crie uma nova forma de entrar
offer-demanded-title = Configure um acesso mais forte
offer-demanded = Isso pede um acesso mais forte do que sua conta tem. Configure agora para continuar.
offer-demanded-app = { $app } pede um acesso mais forte do que sua conta tem. Configure agora para continuar.
offer-text = A chave de acesso usa sua digital, seu rosto ou o bloqueio de tela. Não há nada para decorar, e ninguém consegue enganar você para obtê-la.
offer-passkey = Criar uma chave de acesso
offer-password = Prefiro escolher uma senha
offer-totp = Usar um aplicativo autenticador
not-now = Agora não
notice-already = Você já tem uma conta e acaba de entrar nela.
password-set-title = Escolha uma senha
current-password = Senha atual
current-password-hint = Deixe em branco se não tiver.
new-password = Nova senha
new-password-hint = Pelo menos 15 caracteres. Algumas palavras já bastam.
save-password = Salvar senha
totp-enrol-title = Configure um aplicativo autenticador
totp-enrol-text = Um aplicativo no celular mostra um código novo a cada 30 segundos. Vamos pedir um deles quando você entrar com senha ou por e-mail.
totp-begin = Mostrar o QR code
totp-scan = Escaneie com seu aplicativo autenticador.
totp-qr = QR code para o aplicativo autenticador
totp-no-scan = Não consigo escanear
totp-type = Digite esta chave no aplicativo:
totp-confirm = Depois, digite o código que o aplicativo mostra
totp-finish = Ativar
recovery-codes-title = Códigos de recuperação
recovery-codes-text = Dez códigos para o dia em que você perder o celular. Cada um vale uma vez. Um novo conjunto substitui o anterior.
recovery-codes-make = Gerar códigos de recuperação
codes-title = Guarde estes códigos
codes-text = Imprima ou salve em um gerenciador de senhas. Não vamos mostrá-los de novo.
codes-saved = Já guardei
add-address-title = Adicione um e-mail
add-address-text = Vamos enviar um código para confirmar que o e-mail é seu.
sign-in-with = Entrar com { $name }
continue-with = Continuar com { $name }
identity-title = Vincular outra forma de entrar
connection-title = Entre com a sua organização
connection-text = Para acessar esta organização, entre pelo diretório dela.
identity-text = Você entra lá uma vez. A partir daí, esse serviço também entra aqui por você, até que você o desvincule.
add-number-title = Adicione um telefone
add-number-text = Vamos enviar um código por SMS. Comece com + e o código do país. Mensagens SMS podem ser interceptadas; uma chave de acesso é mais segura.
number = Telefone
signs-in = Entrar com este número
signs-in-hint = Quem receber suas mensagens SMS poderá entrar como você. Deixe desmarcado para usar o número como segunda etapa.

## Quem e o quê

confirm-title = Escolha uma conta
confirm-as = Continuar como { $name }
confirm-switch = Usar outra conta
claim-title = Você já usa este serviço?
claim-text = { $connection } identificou você como { $identity }. Este serviço ainda não sabe quem é.
claim-new = Continuar com uma conta nova
claim-existing = Já uso este serviço
claim-only-members = É preciso ter uma conta que já seja membro da organização. Caso contrário, pergunte aos administradores dela.
claim-attach-title = Vincular à sua conta?
claim-attach-text = A partir de agora, { $identity } em { $connection } será você nesta organização, e em nenhum outro lugar.
claim-attach = Vincular e continuar
organization-title = Escolha uma organização
organization-text = Onde você quer usar { $app }?
organization-suspended = Suspensa: ninguém pode agir por ela agora
organization-done-title = Você entrou em { $organization }
organization-done-text = Abra os aplicativos que a sua organização usa. Neste navegador, eles não vão pedir que você entre de novo.
device-title = Conectar um dispositivo
device-sign-in = Primeiro, entre na sua conta. Depois, digite o código que o seu dispositivo mostra.
device-text = Digite o código que o seu dispositivo mostra.
device-compare = Compare este código com o que o seu dispositivo mostra.
device-label = Código no dispositivo
device-hint = Oito letras. Maiúsculas e traços não importam.
device-warning = Continue apenas se foi você quem começou, em um dispositivo à sua frente. Ninguém precisa deste código por outro motivo.
device-elsewhere = Este dispositivo está em outra rede. Se ele não está à sua frente, alguém pode estar tentando entrar na sua conta: não permita.
device-consent-title = Conectar { $app }?
device-shows = O seu dispositivo deve mostrar este código:
device-which = Dispositivo
device-from = Endereço de rede (IP)
device-when = Pedido em
device-done-title = O seu dispositivo está conectado
device-done-text = Volte a ele. Em alguns segundos ele continua sozinho.
device-done-see = Aplicativos e agentes
device-refused-title = Não conectado
device-refused-text = O acesso do dispositivo foi recusado. Nada mais mudou.
device-expired-title = Esse código expirou
device-expired-text = Os códigos valem cinco minutos. Peça um novo ao dispositivo.
consent-title = Permitir { $app }?
consent-stranger-title = quer acesso à sua conta
consent-calls-itself = Diz se chamar “{ $name }”.
consent-document = O que ele diz de si mesmo é publicado por { $host }.
consent-unverified = Este aplicativo não foi verificado. Permita apenas se foi você quem começou e se confia no destino.
consent-verified = Este aplicativo foi verificado por quem cuida deste serviço.
consent-first-party = Este aplicativo é de { $service }.
consent-organization = Você age por { $organization } como { $role }.
consent-may = Ele poderá
consent-where = Onde
consent-returns = Leva você de volta para
consent-local = Um aplicativo neste computador
consent-deny = Não permitir
consent-allow = Permitir
consent-later = Você pode revogar isso quando quiser, na sua conta, em “Aplicativos e agentes”.
consent-policy = Política de privacidade
consent-terms = Termos de uso

continuing-title = Indo para { $app }
continuing-text = Em um instante você estará de volta em { $app }.

sign-out-title = Sair?
sign-out-text = Os aplicativos em que você entrou por este navegador serão avisados.
sign-out = Sair
sign-out-stay = Não sair
signed-out-title = Você saiu
signed-out-text = Pode fechar esta janela.
signed-out-again = Entrar de novo

## Conta

account = Sua conta
security-title = Segurança
security-text = Como você entra, { $name }.
passkeys = Chaves de acesso
passkeys-text = A forma mais segura e rápida de entrar.
add-passkey = Adicionar chave de acesso
kind-password = Senha
kind-totp = Aplicativo autenticador
kind-recovery-codes = Códigos de recuperação
password-text = Opcional. A chave de acesso é mais segura.
add-password = Adicionar uma senha
change-password = Trocar a senha
second-steps = Segundas etapas
second-steps-text = Pedidas depois da senha e quando você precisa recuperar o acesso.
add-totp = Configurar aplicativo autenticador
add-phone = Adicionar um telefone para receber SMS
add-recovery-codes = Gerar códigos de recuperação
renew-recovery-codes = Gerar novos códigos de recuperação
identities = Entrada por outros serviços
identities-text = Podem entrar na sua conta, mas não podem mudar como você entra.
link-identity = Vincular um serviço
addresses = E-mails
addresses-text = Onde falamos com você e para onde vão os códigos.
add-address = Adicionar e-mail
added-at = Desde { $when }
used-at = Último uso: { $when }
since-at = Desde { $when }
seen-at = Visto em { $when }
allowed-at = Permitido em { $when }
codes-left = { $count ->
    [0] Nenhum restante
    [one] Resta um
   *[other] Restam { $count }
}
badge-exhausted = Bloqueio por excesso de tentativas
badge-signs-in = Serve para entrar
remove = Remover
remove-what = Remover { $what }
remove-sure = Você não poderá mais entrar com isso.
rename = Renomear
rename-what = Renomear { $what }
rename-label = Novo nome
hold-running = Alguém pediu para recuperar esta conta. Se você não impedir, isso será possível a partir de { $when }.
hold-stop = Não fui eu: impedir
sessions-title = Sessões
sessions-text = Onde sua conta está aberta.
this-device = Este dispositivo
device = { $browser } em { $system }
device-unknown = Dispositivo desconhecido
end = Encerrar
end-what = Encerrar { $what }
end-others = Encerrar todas as outras
apps-title = Aplicativos e agentes
apps-text = Quem pode agir por você, e para quê.
apps-none = Você ainda não permitiu nenhum aplicativo.
app-acts-for = Age por { $organizations }
app-offline = Também quando você não está
delegations = Agindo em seu nome
delegations-text = Estes agentes podem usar o que um aplicativo seu lhes passar, dentro destes limites.
delegation-redelegable = Pode passar adiante a outro agente
delegation-decided = Decidido pela organização para todos os membros
delegation-sure = O que o agente obteve com isso termina imediatamente.
trust-first-party = Nosso
trust-verified = Verificado
trust-unverified = Não verificado
withdraw = Revogar
withdraw-what = Revogar { $what }
withdraw-sure = O acesso termina na hora, e será preciso pedir de novo.
expires-at = Até { $when }
role-owner = responsável
role-admin = administrador(a)
role-member = membro
role-is = Como { $role }
badge-revoked = Revogada
badge-suspended = Suspensa
approvals-title = Aprovações
approvals-text = O que aplicativos e agentes pedem que você aprove. Cada aprovação vale para uma só ação, uma única vez.
approvals-none = Nenhum pedido à sua espera.
approvals-decided = Anteriores
approval-wants = pede para:
approval-organization = Na organização { $organization }
approval-api = No serviço { $api }
approval-host = Publicado por { $host }
approval-says = Diz:
approval-deny = Negar
approval-pick = Para aprovar, escolha o número que o aplicativo mostra.
approval-approve = Aprovar com { $number }
approval-report = Eu não pedi isto
approval-take-back = Voltar atrás
approval-title = Aprovar isto?
approval-is-approved = Você aprovou isto. Enquanto o aplicativo não o usar, você pode voltar atrás.
approval-is-consumed = Você aprovou isto, e o aplicativo já o usou.
approval-is-fetched = Você aprovou isto. O aplicativo já recebeu a permissão, que dura cinco minutos.
approval-is-denied = O pedido foi negado. O aplicativo não pode fazer isto.
approval-is-blocked = Você não queria isto. O aplicativo fica um dia sem poder pedir.
approval-is-expired = Ninguém decidiu a tempo, ou aquilo em que se apoia terminou. O aplicativo não pode fazer isto.
approvals-all = Todas as aprovações
asked-at = Pedido { $when }
push = Notificações
push-text = Um navegador pode avisar que há algo à sua espera, sem dizer o quê. O e-mail chega de qualquer forma.
push-add = Avisar neste navegador
push-failed = Este navegador não permite. Autorize as notificações deste site e tente de novo.
push-sure = Ele deixará de avisar.
push-said = Há algo à espera da sua decisão
push-said-more = Um aplicativo ou agente pede a sua aprovação.
badge-irreversible = Não pode ser desfeito
badge-approved = Aprovado
badge-consumed = Aprovado e usado
badge-denied = Negado
badge-blocked = Bloqueado
badge-expired = Expirado
wrong-decided = Isso já foi decidido, expirou ou não é mais permitido.
keys-title = Chaves
keys-text = Para programas que agem por você em uma organização. Cuide delas como de uma senha.
keys-none = Você não tem chaves.
keys-new = Nova chave
keys-nowhere = Uma chave pertence a uma organização, e você ainda não faz parte de nenhuma.
keys-nothing = Seus papéis ali não têm permissões que uma chave possa usar.
key-name = Nome
key-name-hint = Para que ela serve.
key-where = Organização
key-permissions = Permissões
key-days = Dias de validade
key-make = Criar a chave
key-made = Esta é sua nova chave. Copie agora: não vamos mostrá-la de novo.
revoke-sure = Os programas que a usam param de funcionar na hora.
organizations-title = Organizações
organizations-text = Organizações das quais você faz parte.
organizations-none = Você ainda não faz parte de nenhuma organização.
invitations = Convites
invitation-title = Você recebeu um convite
invitation-from = { $organization } convida você
invitation-for = O convite foi enviado para { $address }.
invitation-look = Mostrar quem me convida
invitation-as = Aceitar o convite como { $name }?
invitation-text = Crie uma conta com o e-mail que recebeu o convite ou entre, se já tiver uma.
invitation-token = Convite
invitation-after = Ao entrar com esse e-mail, você também encontra o convite na sua conta, em “Organizações”.
join = Entrar
join-what = Entrar em { $what }
leave = Sair
leave-what = Sair de { $what }
leave-sure = Você perde o acesso na hora. Só alguém de lá pode convidar você de novo.
done-joined = Boas-vindas.
done-left = Você saiu da organização.
wrong-invitation = Esse convite não funciona: foi usado, foi cancelado ou expirou, ou é para outro e-mail. Peça um novo.
wrong-last-owner = Você é a última pessoa responsável. Passe a responsabilidade a alguém antes.
wrong-suspended = Essa organização está suspensa. Fale com quem a administra.
wrong-authority = Uma chave só pode ter permissões que você tem. Retire alguma.
wrong-quota = Você atingiu o limite. Revogue alguma antes.
wrong-key-made = Esta chave já foi criada e só é mostrada uma vez. Ela está na lista abaixo; se você não a copiou, revogue-a e crie outra.
wrong-key = Dê à chave um nome, pelo menos uma permissão e de 1 a 365 dias.
activity-title = Atividade
activity-text = Atividade recente na sua conta. Das tentativas de entrada recusadas, só as mais recentes são contadas.
done-removed = Removido.
done-renamed = Renomeado.
done-recovery-stopped = Pronto. Ninguém consegue entrar por aí.
done-ended = Sessão encerrada.
done-ended-others = Todas as outras sessões foram encerradas.
done-approved = Aprovado. O aplicativo pode fazer exatamente isto, uma vez.
done-denied = Negado.
done-wrong-number = Esse não é o número que o aplicativo mostra; nada foi aprovado.
done-blocked = Bloqueado. O aplicativo fica um dia sem poder pedir.
done-push = Este navegador vai avisar.
done-withdrawn = Acesso revogado.

event-account-created = Conta criada
event-account-recovered = Acesso recuperado
event-account-recovery-held = Recuperação pedida; em espera
event-account-recovery-stopped = Recuperação impedida
event-sign-in-succeeded = Entrada na conta
event-proof-refused = Tentativa de entrada recusada
event-proof-limited = Excesso de tentativas bloqueado
event-attempts = { $count ->
    [one] Tentativa de entrada recusada
   *[other] { $count } tentativas de entrada recusadas
}
event-credential-added = Forma de entrar adicionada
event-credential-changed = Forma de entrar alterada
event-credential-removed = Forma de entrar removida
event-credential-exhausted = Forma de entrar bloqueada por excesso de tentativas
event-session-raised = Você confirmou que era você
event-session-ended = Sessão encerrada
event-grant-issued = Entrada em um aplicativo
event-grant-refused = Tentativa de acesso de um aplicativo recusada
event-grant-reused = Acesso copiado de um aplicativo bloqueado
event-grant-revoked = Acesso de um aplicativo encerrado
event-approval-requested = Um aplicativo pediu uma aprovação
event-approval-decided = Aprovação decidida
event-approval-redeemed = Aprovação usada por um aplicativo
event-approval-client-blocked = Aplicativo impedido de pedir
event-consent-withdrawn = Acesso revogado
event-delegation-created = Agente autorizado a agir por você
event-delegation-revoked = Permissão de um agente revogada
event-token-exchanged = Um agente agiu por você
event-assertion-issued = Um aplicativo levou sua identidade a outro serviço
event-assertion-redeemed = Um aplicativo agiu por você, com o aval de outro servidor
event-external-identity-linked = Uma organização ligou você ao diretório dela
event-external-identity-removed = A ligação com um diretório foi removida
event-account-disabled = Conta desativada
event-account-enabled = Conta reativada
event-break-glass-used = Acesso a uma organização com uma chave de acesso em vez do acesso que ela exige
event-membership-joined = Entrada em uma organização
event-membership-disabled = Acesso a uma organização suspenso
event-membership-enabled = Acesso a uma organização restaurado
event-membership-removed = Saída de uma organização
event-membership-changed = Papel em uma organização alterado
event-organization-created = Organização criada
event-impersonation-started = Alguém que cuida deste serviço começou a agir como você
event-impersonation-ended = Alguém que cuida deste serviço deixou de agir como você
event-api-key-created = Chave criada
event-api-key-used-first = Chave usada pela primeira vez
event-api-key-revoked = Chave revogada
event-platform-authority-changed = Suas permissões de administração mudaram
event-account-administered = Um administrador agiu na sua conta
event-organization-suspended = Organização suspensa
event-organization-resumed = Organização reativada
event-other = Algo mudou

## O que pode dar errado

wrong-password = Esse e-mail e essa senha não combinam. Confira os dois ou peça um código.
wrong-current-password = A senha atual não está certa. Tente de novo.
wrong-code = O código não está certo ou expirou. Confira a mensagem mais recente ou peça um novo.
wrong-totp = O código não está certo. Espere o próximo e tente de novo.
wrong-totp-enrol = O código não está certo. Confira o relógio do celular e tente o próximo código.
wrong-recovery-code = O código de recuperação não está certo ou já foi usado. Tente outro.
wrong-link = Esse link não funciona mais. Peça um novo código.
wrong-passkey = Essa chave de acesso não funcionou aqui. Tente de outra forma.
wrong-generic = Não deu certo. Tente de novo.
wrong-address = Digite um e-mail, como nome@exemplo.com.br.
wrong-number = Digite o número com + e o código do país, como +55 11 95555-0100.
wrong-signs-in = Todos os seus números devem servir para entrar, ou todos ser uma segunda etapa. Remova antes o outro número.
wrong-name = Digite um nome de 1 a 100 caracteres.
wrong-password-short = Use pelo menos 15 caracteres. Algumas palavras já bastam.
wrong-password-long = Use no máximo 256 caracteres.
wrong-password-common = Muita gente usa essa senha. Escolha outra.
wrong-password-breached = Essa senha vazou de outro serviço. Escolha outra.
wrong-password-guessable = Essa senha lembra demais seu nome, seu e-mail ou este serviço. Escolha outra.
wrong-user-code = Esse código não está aguardando confirmação. Confira no dispositivo ou peça um novo.
wrong-federated = Não foi possível entrar assim. Se ainda não vinculou esse serviço à sua conta, entre de outra forma e vincule-o na página de segurança. Se for o diretório da sua organização, pergunte aos administradores dela.
wrong-identity = Não foi possível vincular. Talvez já esteja vinculado a uma conta; caso contrário, tente de novo.
wrong-connection = Esse serviço não está acessível agora. Tente mais tarde ou entre de outra forma.
wrong-organization = Escolha uma das organizações mostradas.
wrong-field = Confira o que você digitou e tente de novo.
wrong-moved-on = Esta página estava desatualizada. Veja como estão as coisas.
wrong-slow-down = { $count ->
    [one] Muitas tentativas. Tente de novo em um minuto.
   *[other] Muitas tentativas. Tente de novo em { $count } minutos.
}
wrong-unavailable = Não foi possível agora. Tente de novo em instantes.
wrong-last-way-in = É a última forma de entrar na sua conta. Adicione outra antes.
wrong-gone = Isso não existe mais.
wrong-label = Digite um nome de 1 a 60 caracteres.
script-cancelled = Nada foi escolhido, ou demorou demais. Tente de novo ou escolha outra forma.
script-known = Este dispositivo já tem uma chave de acesso para sua conta.
script-failed = Não deu certo. Tente de novo em instantes.

problem-again = Começar de novo
problem-for-developers = Para desenvolvedores
problem-not-found-title = Página não encontrada
problem-not-found-text = Confira o endereço ou volte para o aplicativo de onde você veio.
problem-internal-title = Algo deu errado do nosso lado
problem-internal-text = Não foi culpa sua. Tente de novo em instantes.
problem-flow-title = Esta página não é deste navegador
problem-flow-text = Ela foi aberta em outro lugar, ou seu navegador bloqueia cookies. Comece de novo pelo aplicativo de onde você veio.
problem-expired-title = Demorou um pouco demais
problem-expired-text = Por segurança, paramos. Comece de novo pelo aplicativo de onde você veio.
problem-request-title = Não podemos continuar
problem-request-text = O aplicativo enviou um pedido que não podemos aceitar. Nada aconteceu com sua conta. Volte e tente de novo ou avise quem desenvolve o aplicativo.
problem-origin-title = Pedido não permitido
problem-origin-text = O pedido veio de outro site. Comece de novo por aqui.
problem-slow-title = Muitas tentativas
problem-slow-text = Espere um minuto e tente de novo.
problem-closed-title = As contas são somente por convite
problem-closed-text = Não é possível criar uma conta por aqui. Fale com quem cuida deste serviço.
denied-no-account-title = Não há conta com este e-mail
denied-no-account-text = Peça um convite a quem cuida deste serviço ou tente outro e-mail.
denied-unavailable-title = Esta conta não pode ser usada
denied-unavailable-text = Fale com quem cuida deste serviço.
denied-unmet-title = É preciso uma verificação mais forte
denied-unmet-text = O que sua conta precisa para isso está bloqueado ou não pode ser usado aqui. Comece de novo para recuperar o acesso com seu e-mail.
denied-held-title = A espera começou
denied-held-text = Avisamos todos os e-mails da conta. Volte em 72 horas e crie uma nova forma de entrar.
denied-session-title = Sua sessão terminou nesse meio-tempo
denied-session-text = Entre de novo para continuar.
denied-request-title = Não podemos continuar
denied-request-text = Não é possível atender ao pedido do aplicativo com a sua conta. Volte para o aplicativo.
denied-organization-title = Não podemos abrir esta organização
denied-organization-text = Esta organização não existe aqui, ou a sua conta não pode usá-la agora. Confira o endereço com quem o passou a você.
denied-cancelled-title = Cancelado
denied-cancelled-text = Nada foi alterado.

you-title = Seus dados
you-text = Como conhecemos você, o que guardamos sobre você e como sair.
profile-name = Nome e idioma
profile-name-label = Seu nome
profile-language = Idioma dos e-mails e das páginas
profile-addresses = Endereços de e-mail e números de telefone ficam em
export = O que guardamos
export-text = Tudo o que está guardado sobre você, em um arquivo que outros programas conseguem ler. Sem senhas nem chaves. Avisamos todos os endereços da conta.
export-now = Baixar seus dados
delete-account = Excluir sua conta
delete-account-text = Você sai da conta em todos os lugares e os aplicativos perdem o acesso na hora. Depois de 14 dias seus dados são excluídos de vez.
delete-account-sure = Até lá você pode entrar e manter a conta. Os aplicativos terão que pedir acesso de novo.
delete-account-now = Excluir esta conta
deletion-running = Esta conta será excluída em { $when }. Até lá você pode mantê-la.
deletion-keep = Manter esta conta
deletion-requested-title = Sua conta será excluída
deletion-requested-text = Você saiu da conta em todos os lugares. Para mantê-la, entre em até 14 dias.
done-saved = Salvo.
done-kept = Sua conta continua.
wrong-owned-alone = Só você é dono de: { $organizations }. Primeiro torne outra pessoa dona.
wrong-exported = Você já baixou seus dados várias vezes. Tente de novo daqui a uma hora.
wrong-profile = Informe um nome de até 100 caracteres.
event-account-changed = Nome ou idioma alterado
event-account-exported = Seus dados foram exportados
event-account-deletion-requested = Exclusão da conta pedida
event-account-deletion-cancelled = Conta mantida
