// Names as they look in real traces, made from word lists.
#pragma once

#include <string>
#include <string_view>

#include "tests/tracegen/random.h"

namespace etwpipe::tracegen {

/// UTF-16 of ASCII text.
std::u16string Wide(std::string_view ascii);

/// "Contoso.Billing.Storage"
std::string MakeNamespace(Random& random);
/// "OrderRepository" or a generic like "List`1"
std::string MakeTypeName(Random& random);
/// "Contoso.Billing.Storage.OrderRepository"
std::string MakeFullTypeName(Random& random);
/// "TryGetCustomer"
std::string MakeMethodName(Random& random);
/// "instance bool  (class System.String,int32)", as the CLR writes them
std::string MakeSignature(Random& random);
/// "C:\Users\build\source\contoso\src\billing\order_cache.cpp"
std::string MakeSourcePath(Random& random);
/// "\Device\HarddiskVolume3\ProgramData\Contoso\cache\index_0042.dat"
std::string MakeDataPath(Random& random);
/// "\REGISTRY\MACHINE\SOFTWARE\Contoso\Billing"
std::string MakeRegistryKey(Random& random);
/// "SELECT Name FROM Orders WHERE Id = 1234"
std::string MakeQuery(Random& random);

}  // namespace etwpipe::tracegen
